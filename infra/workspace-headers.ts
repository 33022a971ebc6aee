/**
 * The headers of every response with the workspace's files, from any server. The page runs only its own
 * script and style files and connects only to its own origin. Text cannot become markup or script, since no
 * script may create a Trusted Types policy. No page may frame it, and its URL is never sent in a Referer.
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
 * Sent wherever callers use TLS (RFC 6797 §6.1). Browsers then avoid plain HTTP for a year. There is no
 * includeSubDomains, because subdomains may belong to others.
 */
export const STRICT_TRANSPORT_SECURITY = 'max-age=31536000'

/**
 * The build names files under /assets/ by their content, so a browser may cache them permanently. Everything
 * else, above all index.html, is revalidated on each request.
 */
export const workspaceCacheControl = (path: string): string =>
  path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
