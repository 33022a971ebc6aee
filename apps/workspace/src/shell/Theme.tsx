import { useState } from 'react'
import { MoonIcon, ScreenIcon, SunIcon } from '../ui/icons.tsx'
import { Menu, MenuChoice, MenuLabel } from '../ui/Menu.tsx'

export type Theme = 'system' | 'light' | 'dark'

const OPTIONS = [
  { value: 'system', label: 'As the system', icon: <ScreenIcon /> },
  { value: 'light', label: 'Light', icon: <SunIcon /> },
  { value: 'dark', label: 'Dark', icon: <MoonIcon /> },
] as const

/** Kept by the browser: a taste, not a secret. `public/theme.js` applies it before the first paint. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(
    () => (document.documentElement.dataset.theme as Theme) ?? 'system',
  )
  return [
    theme,
    (next) => {
      setTheme(next)
      if (next === 'system') {
        delete document.documentElement.dataset.theme
        localStorage.removeItem('theme')
      } else {
        document.documentElement.dataset.theme = next
        localStorage.setItem('theme', next)
      }
    },
  ]
}

export function ThemeOptions() {
  const [theme, setTheme] = useTheme()
  return (
    <>
      <MenuLabel>Colours</MenuLabel>
      <MenuChoice value={theme} onChange={(value) => setTheme(value as Theme)} options={OPTIONS} />
    </>
  )
}

export function ThemeChoice() {
  return (
    <Menu
      trigger={
        <button type="button" className="icon-button" aria-label="Colours">
          <SunIcon />
        </button>
      }
    >
      <ThemeOptions />
    </Menu>
  )
}
