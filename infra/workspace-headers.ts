/**
 * What every answer that serves the workspace's files carries, from the local gateway and from nginx alike. The page
 * runs only its own script and style files and talks only to its own origin; nothing may frame it, and no address
 * of it leaves in a Referer.
 */
export const WORKSPACE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const

/**
 * The build names what lies under /assets/ by its content, so it may be kept for ever; everything else, index.html
 * above all, is asked for again each time.
 */
export function workspaceCacheControl(path: string): string {
  return path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
}
