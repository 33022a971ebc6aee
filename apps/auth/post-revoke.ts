import { decodeProtectedHeader, jwtVerify } from 'jose'
import { insertRevokedToken } from '#shared/revocation/records.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import { EMPTY } from './answer.ts'
import { type ClientEndpoint, readClientRequest } from './client-request.ts'
import type { KeyRing } from './key-ring.ts'
import { Refusal, tooManyRequests, unavailable } from './refusal.ts'
import { type Handler, missing } from './route.ts'
import type { TokenKey } from './token-key.ts'

const FIELDS = new Set(['token', 'client_id', 'client_secret'])

/**
 * POST /v1/oauth/revoke (RFC 7009): a client revokes its own token. Anything else sent as a token gets the same 200,
 * so that the endpoint cannot be used to test whether a stolen token is valid, or whose it is.
 */
export function createPostRevoke(parts: ClientEndpoint & { revocation: Revocation; keys: KeyRing }): Handler {
  const { authenticate, limit, revocation, keys, audit, issuer, resource: audience } = parts
  return async (exchange) => {
    const read = await readClientRequest(exchange, FIELDS)
    if (read instanceof Refusal) return read
    const token = read.form.get('token')
    if (token === undefined) return missing('token')

    const client = await authenticate(exchange, read.credentials, limit)
    if (client instanceof Refusal) return client
    if (!client.rate.allowed) return tooManyRequests('rate_of_client', client.rate)
    if (client.standing === 'undecided') return unavailable('revocation_undecided')

    const { clientId } = client.record
    const kid = kidOf(token)
    const key = kid === undefined ? undefined : await keys.find(kid)
    if (key === 'unreadable') return unavailable('signing_key_unreadable')
    const claims = key && (await verifyOwnToken(token, { key, issuer, audience }))
    if (claims?.clientId !== clientId) return EMPTY
    const { jti, expiresAt } = claims
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

/** Returns the id of the key that a token claims to be signed with; undefined when it is no JWT or names none. */
function kidOf(token: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(token)
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

/**
 * Verifies a token that is to be revoked. Its expiry is ignored: the clock of a resource server may be behind
 * this one, and revoking an expired token harms no one.
 * @returns undefined when this server did not sign it with `key`.
 */
async function verifyOwnToken(
  token: string,
  { key, issuer, audience }: { key: TokenKey; issuer: string; audience: string },
): Promise<{ jti: string; clientId: unknown; expiresAt: Date } | undefined> {
  try {
    const { payload } = await jwtVerify<{ jti: string; exp: number }>(token, key.keyObject(), {
      algorithms: [key.alg],
      typ: 'at+jwt',
      issuer,
      audience,
      requiredClaims: ['jti', 'exp', 'client_id'],
      currentDate: new Date(0),
    })
    return { jti: payload.jti, clientId: payload.client_id, expiresAt: new Date(payload.exp * 1_000) }
  } catch {
    return undefined
  }
}
