import { MoonIcon, ScreenIcon, SunIcon } from '../ui/icons.tsx'
import { MenuChoice, MenuLabel } from '../ui/Menu.tsx'

import { THEMES, type Theme, useTheme } from '../ui/theme.ts'

const ICONS = { system: <ScreenIcon />, light: <SunIcon />, dark: <MoonIcon /> }

export function ThemeOptions() {
  const [theme, setTheme] = useTheme()
  return (
    <>
      <MenuLabel>Theme</MenuLabel>
      <MenuChoice
        value={theme}
        onChange={(value) => setTheme(value as Theme)}
        options={THEMES.map((each) => ({ ...each, icon: ICONS[each.value] }))}
      />
    </>
  )
}
