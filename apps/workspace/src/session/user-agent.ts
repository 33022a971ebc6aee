/** The first that fits: most browsers also name the ones that they descend from. */
const BROWSERS = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /(?:Chrome|CriOS)\//],
  ['Safari', /\bSafari\//],
] as const

const SYSTEMS = [
  ['Windows', /\bWindows\b/],
  ['Android', /\bAndroid\b/],
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['macOS', /\bMacintosh\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
] as const

/** Returns "Firefox on Windows", or the header itself if its browser is not known here. */
export function browserName(userAgent: string | null): string {
  if (!userAgent) return 'Unknown browser'
  const [browser] = BROWSERS.find(([, pattern]) => pattern.test(userAgent)) ?? []
  if (!browser) return userAgent
  const [system] = SYSTEMS.find(([, pattern]) => pattern.test(userAgent)) ?? []
  return system ? `${browser} on ${system}` : browser
}
