import { entityTag, failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { VERSION } from '#shared/process/version.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import { answerUncached, type Handler, type HttpAnswer, type OAuthExchange, tryLater } from './http.ts'
import type { KeyRing } from './key-ring.ts'

const MAX_AGE_S = 300
/** The documents are public and the same for everyone, so pages of any origin may read them. */
const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*' }

export const publicDocument = (body: string | Uint8Array, type: string, maxAge_s: number): HttpAnswer => {
  const caching = { 'Cache-Control': `public, max-age=${maxAge_s}`, ETag: entityTag(body) }
  return { status: 200, body, headers: { 'Content-Type': type, ...caching, ...ANY_ORIGIN } }
}

/**
 * Answers a GET of a public document, with 304 or 412 if the request has a condition on its tag (RFC 9110
 * §13.1). The document does not depend on the request, not even on Host.
 */
export function answerConditional({ request }: OAuthExchange, document: HttpAnswer): HttpAnswer {
  const { 'Content-Type': _, ...headers } = document.headers
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers
  if (failsIfMatch(ifMatch, headers.ETag)) return answerUncached({ error: 'precondition_failed' }, 412)
  return matchesNone(ifNoneMatch, headers.ETag ?? '') ? { status: 304, body: '', headers } : document
}

/** GET of a public JSON document. 503 while `read` returns undefined. */
export const createGetDocument =
  (read: () => string | undefined | Promise<string | undefined>): Handler =>
  async (exchange) => {
    const json = await read()
    if (json === undefined) return tryLater('no_signing_key')
    return answerConditional(exchange, publicDocument(json, 'application/json', MAX_AGE_S))
  }

/**
 * GET /v1/oauth/jwks and /.well-known/jwks.json. Many verifiers know only the key set, so each request leaves
 * out keys that were revoked by then. While neither store can say, the set stays as it was.
 */
export const createGetKeys = (keys: KeyRing, { ask }: Pick<Revocation, 'ask'>): Handler =>
  createGetDocument(async () => {
    const check = async (kid: string) => {
      if (typeof (await ask({ kid })) === 'object') await keys.withdraw(kid)
    }
    await Promise.all(keys.live().map(({ key }) => check(key.kid)))
    return keys.jwks()
  })

/** GET /healthz: 200 while this process runs. */
export const getHealth: Handler = () => answerUncached({ status: 'ok', version: VERSION })

/** GET /readyz: 200 while requests can be served. Redis is not required, only named in `degraded`. */
export const createGetReadiness =
  (health: () => Record<'waitingFor' | 'degraded', string[]>): Handler =>
  () => {
    const { waitingFor, degraded } = health()
    if (waitingFor.length > 0) return answerUncached({ status: 'not ready', waitingFor }, 503)
    return answerUncached({ status: 'ready', ...(degraded.length > 0 && { degraded }) })
  }
