type ServiceName = 'auth' | 'api'

/** A path, or all paths that begin with a prefix, and the service that answers them. */
interface GatewayRoute {
  path: string
  match: 'exact' | 'prefix'
  to: ServiceName
}

/**
 * The first match wins, and all else goes to the workspace. A test checks that the proxies' configuration
 * files have the same routes.
 */
export const GATEWAY_ROUTES: readonly GatewayRoute[] = [
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

/** Returns the service that answers this path, or undefined if the workspace does. */
export const findService = (path: string): ServiceName | undefined =>
  GATEWAY_ROUTES.find((route) =>
    route.match === 'exact' ? path === route.path : path.startsWith(route.path),
  )?.to

/**
 * The addresses of the workspace's screens, as a regular expression that JavaScript and nginx read alike. A
 * last segment with a dot is a file. Every other path is answered with 404, so that a mistyped API path is
 * not taken for a page.
 */
export const SCREEN_PATHS =
  /^\/(?:(?:invitation|password-reset|explain|explain\/[^/.]*|ven_[A-Za-z0-9]{1,60}(?:\/[^.]*)?)?)$/

/**
 * A path that every server reads alike. It has only characters of RFC 3986, no empty segment but the last, no
 * segment `.` or `..`, and no encoded slash, backslash or NUL. All others are refused, since paths are
 * forwarded as they came.
 */
export const PLAIN_PATH =
  /^(?:\/(?!\/|(?:\.|%2e){1,2}(?:\/|$))(?:[\w.~!$&'()*+,;=:@-]|%(?!2f|5c|00)[\da-f]{2})*)+$/i
