import { entityTag, failsIfMatch, matchesNone } from '#shared/entity-tag.ts'
import { serverMetadata } from '#shared/oauth/server-metadata.ts'
import { VERSION } from '#shared/process/version.ts'
import { type Answer, answerUncached } from './answer.ts'
import type { KeyRing } from './key-ring.ts'
import { unavailable } from './refusal.ts'
import type { Exchange, Handler } from './route.ts'

const MAX_AGE_S = 300

/** A public document, or 304 or 412 for a request that has a condition on its tag (RFC 9110 §13.1). */
function answerDocument(json: string, { request: { headers } }: Exchange): Answer {
  const tag = entityTag(Buffer.from(json))
  const cached = { 'Cache-Control': `public, max-age=${MAX_AGE_S}`, ETag: tag }
  if (failsIfMatch(headers['if-match'], tag)) return answerUncached({ error: 'precondition_failed' }, 412)
  if (matchesNone(headers['if-none-match'], tag)) return { status: 304, body: '', headers: cached }
  return { status: 200, body: json, headers: { 'Content-Type': 'application/json', ...cached } }
}

/** GET /v1/oauth/jwks (RFC 7517 §5). */
export const createGetJwks =
  (keys: KeyRing): Handler =>
  (exchange) => {
    const jwks = keys.jwks()
    return jwks === undefined ? unavailable('no_signing_key') : answerDocument(jwks, exchange)
  }

/**
 * GET /.well-known/oauth-authorization-server (RFC 8414), and the same document under the path that libraries for
 * OpenID Connect look for (§5). Built once from the configured issuer, whatever Host a request names.
 */
export function createGetMetadata(about: { issuer: string; resource: string }): Handler {
  const json = JSON.stringify(serverMetadata(about))
  return (exchange) => answerDocument(json, exchange)
}

const HEALTHY: Answer = answerUncached({ status: 'ok', version: VERSION })

/** GET /healthz: this process answers. */
export const getHealth: Handler = () => HEALTHY

/** GET /readyz: a request could be served now. Redis is not required, only named in `degraded`. */
export const createGetReadiness =
  ({ isReady, degraded }: { isReady: () => boolean; degraded: () => string[] }): Handler =>
  () => {
    if (!isReady()) return answerUncached({ status: 'not_ready' }, 503)
    const without = degraded()
    return answerUncached({ status: 'ready', ...(without.length > 0 && { degraded: without }) })
  }
