import { decodeProtectedHeader, jwtVerify } from 'jose'
import type { TokenKey } from './token-key.ts'

/** Returns the id of the key that a token claims to be signed with; undefined when it is no JWT or names none. */
export function kidOf(token: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(token)
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

/**
 * Verifies a token that is to be revoked. Its expiry is not looked at: the clock of a resource server may be behind
 * this one, and revoking an expired token harms nobody.
 * @returns undefined when this server did not sign it with `key`.
 */
export async function verifyOwnToken(
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
