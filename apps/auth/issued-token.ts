import { decodeProtectedHeader, jwtVerify } from 'jose'
import type { KeyRing } from './key-ring.ts'

/** Claims of RFC 9068 §2.2, as this server issues them. */
type Claims = { jti: string; client_id: string; exp: number }

export type ReadIssuedToken = ReturnType<typeof createReadIssuedToken>

/**
 * Returns a function that verifies a token of this server, even an expired or revoked one. It returns claims
 * and key id, undefined for any other text, or `unreadable` if the token's key cannot be looked up.
 */
export const createReadIssuedToken =
  (keys: KeyRing, issuer: string, audience: string) => async (token: string) => {
    try {
      const { kid } = decodeProtectedHeader(token)
      const key = typeof kid === 'string' ? keys.find(kid) : undefined
      if (key === 'unreadable' || key === undefined) return key
      const { payload: claims } = await jwtVerify<Claims>(token, key.keyObject(), {
        algorithms: [key.alg],
        typ: 'at+jwt',
        issuer,
        audience,
        requiredClaims: ['jti', 'exp', 'client_id'],
        currentDate: new Date(0),
      })
      return { claims, kid: key.kid }
    } catch {
      return undefined
    }
  }
