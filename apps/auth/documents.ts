import { serverMetadata } from '#shared/oauth/server-metadata.ts'
import { VERSION } from '#shared/process/version.ts'
import { type Answer, answerCached, answerUncached } from './answer.ts'
import type { KeyRing } from './key-ring.ts'
import { unavailable } from './refusal.ts'
import type { Handler } from './route.ts'

const MAX_AGE_S = 300

/** GET /v1/oauth/jwks (RFC 7517 §5). */
export const createGetJwks =
  (keys: KeyRing): Handler =>
  () => {
    const jwks = keys.jwks()
    return jwks === undefined ? unavailable('no_signing_key') : answerCached(jwks, MAX_AGE_S)
  }

/**
 * GET /.well-known/oauth-authorization-server (RFC 8414), and the same document under the path that libraries for
 * OpenID Connect look for (§5). Built once from the configured issuer: whatever Host a
 * request names, it cannot send anyone elsewhere.
 */
export function createGetMetadata(about: { issuer: string; resource: string }): Handler {
  const answer = answerCached(JSON.stringify(serverMetadata(about)), MAX_AGE_S)
  return () => answer
}

const HEALTHY: Answer = answerUncached({ status: 'ok', version: VERSION })

/** GET /healthz: this process answers. */
export const getHealth: Handler = () => HEALTHY

/** GET /readyz: a request could be served now. Redis is not required, only named in `degraded`. */
export const createGetReadiness =
  ({ isReady, degraded }: { isReady: () => boolean; degraded: () => string[] }): Handler =>
  () => {
    const without = degraded()
    const worse = without.length === 0 ? {} : { degraded: without }
    return isReady()
      ? answerUncached({ status: 'ready', ...worse })
      : answerUncached({ status: 'not_ready' }, 503)
  }
