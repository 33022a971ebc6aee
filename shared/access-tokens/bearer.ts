/** What a request says in its Authorization header field (RFC 6750 §2.1). */
export type Bearer =
  | { kind: 'none' }
  | { kind: 'malformed' }
  | { kind: 'repeated' }
  | { kind: 'token'; token: string }

// b64token of RFC 6750 §2.1 = token68 of RFC 9110 §11.2
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i
const BEARER_SCHEME = /^bearer(?: |$)/i

/**
 * A request of Node's own server, Express, Fastify or Koa (`ctx.req`), a Request of the Fetch API, or
 * anything else with headers whose names are in lower case.
 */
export interface IncomingRequest {
  readonly headers: object
  readonly rawHeaders?: readonly string[]
  /** Node's own request in Fastify's. */
  readonly raw?: { readonly rawHeaders?: readonly string[] }
}

/**
 * Reads the Authorization header field. A scheme other than Bearer counts as no token, so as a request
 * without authentication (RFC 6750 §3.1).
 */
export function readBearer({ headers, rawHeaders, raw }: IncomingRequest): Bearer {
  const { get, authorization: plain } = headers as Partial<Headers> & { authorization?: unknown }
  const authorization = typeof get === 'function' ? get.call(headers, 'authorization') : plain
  if (authorization === undefined || authorization === null) return { kind: 'none' }
  const sent = rawHeaders ?? raw?.rawHeaders ?? []
  if (typeof authorization !== 'string' || isRepeated(sent, 'authorization')) return { kind: 'repeated' }
  const token = BEARER.exec(authorization)?.[1]
  if (token !== undefined) return { kind: 'token', token }
  return { kind: BEARER_SCHEME.test(authorization) ? 'malformed' : 'none' }
}

/** Node silently keeps the first of two Authorization fields; a proxy may have used the second. */
function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let times = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const field = rawHeaders[index] as string
    if (field.length === name.length && field.toLowerCase() === name) times += 1
  }
  return times > 1
}

/** A WWW-Authenticate challenge (RFC 6750 §3). Values must not hold quotes or backslashes. */
export function bearerChallenge(parameters: Record<string, string | undefined>): string {
  const parts = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}="${value}"`)
  return `Bearer ${parts.join(', ')}`
}
