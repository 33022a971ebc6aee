import { entityTag, failsIfMatch, matchesNone } from '#shared/http/entity-tag.ts'
import { VERSION } from '#shared/process/version.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import { type Answer, answerUncached } from './answer.ts'
import type { KeyRing } from './key-ring.ts'
import { unavailable } from './refusal.ts'
import type { Exchange, Handler } from './route.ts'

const MAX_AGE_S = 300
/** The documents are the same for everyone, and no credential is looked at: a page of any origin may read them. */
const READ_ANYWHERE = { 'Access-Control-Allow-Origin': '*' }

export const publicDocument = (body: string | Uint8Array, type: string, maxAge_s: number): Answer => {
  const cached = { 'Cache-Control': `public, max-age=${maxAge_s}`, ETag: entityTag(body), ...READ_ANYWHERE }
  return { status: 200, body, headers: { 'Content-Type': type, ...cached } }
}

/**
 * Answers a GET of a public document: 304 or 412 for a request that has a condition on its tag (RFC 9110 §13.1). No
 * header, not even Host, decides what it says.
 */
export function answerConditional({ request }: Exchange, document: Answer): Answer {
  const { 'Content-Type': _, ...headers } = document.headers
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers
  if (failsIfMatch(ifMatch, headers.ETag)) return answerUncached({ error: 'precondition_failed' }, 412)
  return matchesNone(ifNoneMatch, headers.ETag ?? '') ? { status: 304, body: '', headers } : document
}

/** GET of a public JSON document; 503 while `read` has none. */
export const createGetDocument =
  (read: () => string | undefined | Promise<string | undefined>): Handler =>
  async (exchange) => {
    const json = await read()
    if (json === undefined) return unavailable('no_signing_key')
    return answerConditional(exchange, publicDocument(json, 'application/json', MAX_AGE_S))
  }

/**
 * GET /v1/oauth/jwks, and /.well-known/jwks.json. A thief can sign for verifiers that know only the key set, so each published key is asked about:
 * none is here once its revocation was answered. While neither store can say, the set is as it was.
 */
export const createGetKeys = (keys: KeyRing, { ask }: Pick<Revocation, 'ask'>): Handler =>
  createGetDocument(async () => {
    const check = async (kid: string) => {
      if (typeof (await ask({ kid })) === 'object') await keys.withdraw(kid)
    }
    await Promise.all(keys.live().map(({ key }) => check(key.kid)))
    return keys.jwks()
  })

/** GET /healthz: this process answers. */
export const getHealth: Handler = () => answerUncached({ status: 'ok', version: VERSION })

/** GET /readyz: a request could be served now. Redis is not required, only named in `degraded`. */
export const createGetReadiness =
  (health: () => Record<'waitingFor' | 'degraded', string[]>): Handler =>
  () => {
    const { waitingFor, degraded } = health()
    if (waitingFor.length > 0) return answerUncached({ status: 'not ready', waitingFor }, 503)
    return answerUncached({ status: 'ready', ...(degraded.length > 0 && { degraded }) })
  }
