import { SCOPES } from '#shared/oauth/scopes.ts'
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
export function createGetMetadata({ issuer, resource }: { issuer: string; resource: string }): Handler {
  const methods = ['client_secret_basic', 'client_secret_post']
  const metadata = JSON.stringify({
    issuer,
    token_endpoint: `${issuer}/v1/oauth/token`,
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint: `${issuer}/v1/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: methods,
    jwks_uri: `${issuer}/v1/oauth/jwks`,
    grant_types_supported: ['client_credentials'],
    // Required by §2; there is no authorization endpoint, so there are none.
    response_types_supported: [],
    scopes_supported: SCOPES,
    service_documentation: `${issuer}/docs`,
    // RFC 9728 §4
    protected_resources: [resource],
  })
  const answer = answerCached(metadata, MAX_AGE_S)
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
