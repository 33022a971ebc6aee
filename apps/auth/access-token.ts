import { type KeyObject, randomUUID, sign } from 'node:crypto'
import { decodeProtectedHeader, type JWK, jwtVerify } from 'jose'
import type { SigningAlg } from '#shared/oauth/signing-keys.ts'

export const ACCESS_TOKEN_LIFE_S = 900

/** A key that signs access tokens, or has signed some that still live. */
export interface TokenKey {
  readonly kid: string
  readonly alg: SigningAlg
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** As it is published. */
  readonly publicJwk: JWK
  /** The JOSE header of every token that it signs, encoded. */
  readonly encodedHeader: string
}

export const createTokenKey = (key: Omit<TokenKey, 'encodedHeader'>): TokenKey => ({
  ...key,
  encodedHeader: base64url(JSON.stringify({ typ: 'at+jwt', alg: key.alg, kid: key.kid })),
})

const base64url = (text: string): string => Buffer.from(text).toString('base64url')

/** A signed JWT with the claims of RFC 9068 §2.2 and the company, which lives 900 s, and its id. */
export function issueAccessToken(
  key: TokenKey,
  about: {
    issuer: string
    audience: string
    clientId: string
    vendorId: string
    scope: string
    now_ms: number
  },
): { token: string; jti: string } {
  const { issuer, audience, clientId, vendorId, scope, now_ms } = about
  const iat = Math.floor(now_ms / 1_000)
  const jti = randomUUID()
  const claims = {
    iss: issuer,
    aud: audience,
    sub: clientId,
    client_id: clientId,
    vendor_id: vendorId,
    scope,
    iat,
    exp: iat + ACCESS_TOKEN_LIFE_S,
    jti,
  }
  const input = `${key.encodedHeader}.${base64url(JSON.stringify(claims))}`
  const signature = sign('sha256', Buffer.from(input, 'latin1'), key.privateKey)
  const encoded = key.alg === 'ES256' ? joseSignature(signature) : signature
  return { token: `${input}.${encoded.toString('base64url')}`, jti }
}

const P256_BYTES = 32

/**
 * JWS wants r and s side by side (RFC 7518 §3.4), OpenSSL gives them in DER. Asking Node 24 for the former
 * (`dsaEncoding: 'ieee-p1363'`) halves the speed of signing.
 */
export function joseSignature(der: Buffer): Buffer {
  const raw = Buffer.alloc(2 * P256_BYTES)
  // SEQUENCE (2 bytes), INTEGER, length, r, INTEGER, length, s; an integer may lead with a zero byte or be short.
  let offset = 2
  for (let end = P256_BYTES; end <= 2 * P256_BYTES; end += P256_BYTES) {
    const length = der[offset + 1] as number
    const from = offset + 2 + Math.max(0, length - P256_BYTES)
    offset += 2 + length
    der.copy(raw, end - (offset - from), from, offset)
  }
  return raw
}

/** @returns the id of the key that a token says it is signed with; undefined when it is no JWT or names none. */
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
    const { payload } = await jwtVerify<{ jti: string; exp: number }>(token, key.publicKey, {
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
