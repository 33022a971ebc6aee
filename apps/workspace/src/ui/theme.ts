import { useState } from 'react'

export type Theme = 'system' | 'light' | 'dark'

export const THEMES = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const

/** Kept by the browser: a taste, not a secret. `public/theme.js` applies it before the first paint. */
export function setTheme(theme: Theme): void {
  if (theme === 'system') {
    delete document.documentElement.dataset.theme
    localStorage.removeItem('theme')
  } else {
    document.documentElement.dataset.theme = theme
    localStorage.setItem('theme', theme)
  }
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setShown] = useState<Theme>(
    () => (document.documentElement.dataset.theme as Theme) ?? 'system',
  )
  return [
    theme,
    (next) => {
      setShown(next)
      setTheme(next)
    },
  ]
}
