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
