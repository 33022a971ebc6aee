import { useState } from 'react'
import { MoonIcon, ScreenIcon, SunIcon } from './icons.tsx'

export type Theme = 'system' | 'light' | 'dark'

export const THEMES = [
  { value: 'system', label: 'System', icon: <ScreenIcon /> },
  { value: 'light', label: 'Light', icon: <SunIcon /> },
  { value: 'dark', label: 'Dark', icon: <MoonIcon /> },
] as const

/** Kept by the browser: a taste, not a secret. `public/theme.js` applies it before the first paint. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const { dataset } = document.documentElement
  const [theme, setTheme] = useState<Theme>(() => (dataset.theme as Theme) ?? 'system')
  function change(next: Theme): void {
    setTheme(next)
    if (next === 'system') {
      delete dataset.theme
      localStorage.removeItem('theme')
    } else {
      dataset.theme = next
      localStorage.setItem('theme', next)
    }
  }
  return [theme, change]
}

/** Where there is no menu yet. */
export function ThemeSelect() {
  const [theme, setTheme] = useTheme()
  return (
    <select
      className="min-h-11 sm:min-h-9 rounded-md border border-transparent bg-paper px-2 py-1 text-ink-2 [font:inherit] hover:border-control"
      aria-label="Theme"
      value={theme}
      onChange={(event) => setTheme(event.target.value as Theme)}
    >
      {THEMES.map(({ value, label }) => (
        <option key={value} value={value}>
          {label} theme
        </option>
      ))}
    </select>
  )
}
