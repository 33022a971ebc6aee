import type { Revocation } from '#shared/revocation/revocation.ts'
import { insertRevokedToken } from '#shared/revocation/state.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import { EMPTY } from './answer.ts'
import { type ClientEndpoint, readClientRequest } from './client-request.ts'
import { CREDENTIAL_FIELDS } from './credentials.ts'
import type { ReadOwnToken } from './own-token.ts'
import { Refusal, tooManyRequests, unavailable } from './refusal.ts'
import type { Handler } from './route.ts'

const FIELDS = new Set(['token', ...CREDENTIAL_FIELDS])

/**
 * POST /v1/oauth/revoke (RFC 7009): a client revokes its own token. Anything else sent as a token gets the same 200,
 * so that the endpoint cannot be used to test whether a stolen token is valid, or whose it is.
 */
export function createPostRevoke(
  parts: ClientEndpoint & { revocation: Revocation; readOwnToken: ReadOwnToken; companyLimit: RateLimit },
): Handler {
  const { authenticate, limit, companyLimit, revocation, readOwnToken, audit } = parts
  return async (exchange) => {
    const read = await readClientRequest(exchange, FIELDS, 'token')
    if (read instanceof Refusal) return read
    const client = await authenticate(exchange, read.credentials, limit)
    if (client instanceof Refusal) return client
    if (!client.rate.allowed) return tooManyRequests('rate_of_client', client.rate)
    if (client.standing === 'undecided') return unavailable('revocation_undecided')

    const { clientId, vendorId } = client.record
    const own = await readOwnToken(read.value)
    if (own === 'unreadable') return unavailable('signing_key_unreadable')
    if (own?.claims.client_id !== clientId) return EMPTY
    // Each is on the page of revocations until it expires, and no company may fill that.
    const rate = await companyLimit.consume(vendorId)
    if (!rate.allowed) {
      exchange.rate = rate
      return tooManyRequests('rate_of_client', rate)
    }
    // Its expiry is ignored: the clock of a resource server may be behind, and to revoke an expired token harms no one.
    const { jti, exp } = own.claims
    const expiresAt = new Date(exp * 1_000)
    try {
      await revocation.revoke({ kind: 'token', id: jti }, (transaction) =>
        insertRevokedToken(transaction, { jti, clientId, expiresAt }),
      )
    } catch (error) {
      audit.failed(exchange, error)
      return unavailable('revocation_not_stored')
    }
    audit.tokenRevoked(exchange.context, { clientId, jti })
    return EMPTY
  }
}
