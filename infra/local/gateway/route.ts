export type Destination = 'auth' | 'api' | 'pages'

/** A path, or all paths that begin with a prefix, and the service that answers them. */
export interface Route {
  path: string
  match: 'exact' | 'prefix'
  to: 'auth' | 'api'
}

/** The first match wins. Everything else goes to the workspace. test/deploy/proxies.test.ts holds the proxies' configurations to this. */
export const ROUTES: readonly Route[] = [
  // Where clients look for the authorization server's metadata (RFC 8414 §3 and §5).
  { path: '/.well-known/oauth-authorization-server', match: 'exact', to: 'auth' },
  { path: '/.well-known/openid-configuration', match: 'exact', to: 'auth' },
  // Where libraries look for its keys that read no metadata.
  { path: '/.well-known/jwks.json', match: 'exact', to: 'auth' },
  { path: '/v1/oauth/', match: 'prefix', to: 'auth' },
  { path: '/v1/', match: 'prefix', to: 'api' },
  { path: '/.well-known/', match: 'prefix', to: 'api' },
  { path: '/openapi.json', match: 'exact', to: 'api' },
  { path: '/openapi/', match: 'prefix', to: 'api' },
  { path: '/llms.txt', match: 'exact', to: 'api' },
  { path: '/docs', match: 'exact', to: 'api' },
  { path: '/docs/', match: 'prefix', to: 'api' },
]

const REFUSED_SEGMENT = /^\.{1,2}$/
const ENCODED_DOT = /%2e/gi
/** An encoded separator or terminator: a slash, a backslash, a NUL. */
const HIDDEN_SEPARATOR = /%(?:2f|5c|00)/i
/** The characters that RFC 3986 allows in a path, and complete percent-encodings. */
const PATH = /^\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/

/**
 * The addresses of the workspace's screens, as a regular expression that JavaScript and nginx read alike. A last segment
 * with a dot is a file. Every other path is answered with 404, so that a mistyped API path is not taken for a page.
 */
export const SCREEN_PATHS =
  /^\/(?:(?:invitation|explain|explain\/[^/.]*|ven_[A-Za-z0-9]{1,60}(?:\/[^.]*)?)?)$/

/** The path of an origin-form request target (RFC 9112 §3.2.1): everything before the query. */
export const pathOf = (target: string): string => target.split('?', 1)[0] ?? ''

/**
 * Returns the destination of a request target, judged by its bytes as sent. Targets are forwarded unchanged, so one that
 * another reader might resolve to a different path (dot segments, doubled or encoded slashes, absolute form) is refused.
 * @returns undefined for such a target.
 */
export function destinationOf(target: string): Destination | undefined {
  const path = pathOf(target)
  if (!PATH.test(path) || path.includes('//') || HIDDEN_SEPARATOR.test(path)) return undefined
  const segments = path.replace(ENCODED_DOT, '.').split('/')
  if (segments.some((segment) => REFUSED_SEGMENT.test(segment))) return undefined
  return ROUTES.find((route) => matches(route, path))?.to ?? 'pages'
}

const matches = (route: Route, path: string): boolean =>
  route.match === 'exact' ? path === route.path : path.startsWith(route.path)

/** Paths whose errors are OAuth JSON (RFC 6749 §5.2) instead of problem+json. */
export const isOAuth = (path: string): boolean => ROUTES.find((route) => matches(route, path))?.to === 'auth'
