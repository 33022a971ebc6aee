import { THEMES, type Theme, useTheme } from './theme.ts'

/** Where there is no menu yet. */
export function ThemeSelect() {
  const [theme, setTheme] = useTheme()
  return (
    <select
      className="theme-select"
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
