/**
 * The headers of every answer that serves the workspace's files, whatever server sends it. The page runs only its own
 * script and style files and talks only to its own origin. No text can become markup or script in it: no script may
 * make a Trusted Types policy. Nothing may frame it, and its address is never sent in a Referer.
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
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const

/**
 * Wherever callers come by TLS (RFC 6797 §6.1): browsers then never try plain HTTP for a year. Without
 * includeSubDomains, which would speak for hosts of others.
 */
export const STRICT_TRANSPORT_SECURITY = 'max-age=31536000'

/**
 * The build names files under /assets/ by their content, so a browser may keep them permanently. Everything else,
 * above all index.html, is revalidated each time.
 */
export function workspaceCacheControl(path: string): string {
  return path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
}
