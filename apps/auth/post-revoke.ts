import type { Revocation } from '#shared/revocation/revocation.ts'
import { insertRevokedToken } from '#shared/revocation/state.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import { type ClientEndpoint, readClientRequest } from './client-request.ts'
import { CREDENTIAL_FIELDS } from './credentials.ts'
import { EMPTY, type Handler, OAuthRefusal, tooManyRequests, tryLater } from './http.ts'
import type { ReadIssuedToken } from './issued-token.ts'

/** By the trigger in 0003_tokens.sql. A token is on the page for its 900 s and 5 minutes more. */
const PAGE = { name: 'token-revocations-page', limit: 10_000, window_s: 1_200 }
const NO_ROOM = { allowed: false, policy: PAGE, remaining: 0, reset_s: 60 }

const FIELDS = new Set(['token', ...CREDENTIAL_FIELDS])

/**
 * POST /v1/oauth/revoke (RFC 7009): a client revokes its own token. Any other token gets the same 200, so
 * that the endpoint cannot be used to test whether a stolen token is valid, or whose it is.
 */
export function createPostRevoke(
  parts: ClientEndpoint & {
    revocation: Revocation
    readIssuedToken: ReadIssuedToken
    companyLimit: RateLimit
  },
): Handler {
  const { authenticate, limit, companyLimit, revocation, readIssuedToken, audit } = parts
  return async (exchange) => {
    const form = await readClientRequest(exchange, FIELDS, 'token')
    if (form instanceof OAuthRefusal) return form
    const client = await authenticate(exchange, form.credentials, limit)
    if (client instanceof OAuthRefusal) return client
    if (!client.rate.allowed) return tooManyRequests('rate_of_client', client.rate)
    if (client.standing === 'undecided') return tryLater('revocation_undecided')

    const { clientId, vendorId } = client.record
    const token = await readIssuedToken(form.value)
    if (token === 'unreadable') return tryLater('signing_key_unreadable')
    if (token?.claims.client_id !== clientId) return EMPTY
    // A revoked token is on the page of revocations until it expires, so limit how many a company can add.
    const rate = await companyLimit.consume(vendorId)
    if (!rate.allowed) return tooManyRequests('rate_of_client', rate)
    // An expired token is revoked as well, in case the clock of a resource server is behind.
    const { jti, exp } = token.claims
    const expiresAt = new Date(exp * 1_000)
    try {
      await revocation.revoke({ kind: 'token', id: jti }, (transaction) =>
        insertRevokedToken(transaction, { jti, clientId, expiresAt }),
      )
    } catch (error) {
      if ((error as { code?: string }).code === 'PAGE1') return tooManyRequests('revocations_full', NO_ROOM)
      audit.failed(exchange, error)
      return tryLater('revocation_not_stored')
    }
    audit.tokenRevoked(exchange.context, { clientId, jti })
    return EMPTY
  }
}
