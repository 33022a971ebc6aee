import { decodeProtectedHeader, errors, jwtVerify } from 'jose'
import type { SigningKey, SigningKeys } from './signing-keys.ts'

/** The longest life of a token; Redis keeps revocations only long enough for that. */
const TOKEN_LIFE_MAX_S = 900
/** How far the authorization server's clock may be ahead of this one. */
const CLOCK_SKEW_S = 120
const TOKEN_LIMIT_CHARACTERS = 8_192
const CLAIM_LIMIT_CHARACTERS = 200
const REQUIRED_CLAIMS = ['iss', 'aud', 'sub', 'client_id', 'vendor_id', 'scope', 'iat', 'exp', 'jti']

/** Whose token it is, if its signature was right. */
export interface TokenClient {
  clientId: string
  vendorId: string
}

export interface VerifiedToken extends TokenClient {
  scopes: readonly string[]
  jti: string
  kid: string
}

/** What the caller gets to read (RFC 6750 §3.1): enough to fix an honest mistake. */
export const DESCRIPTIONS = {
  malformed: 'The token is not a well-formed JWT',
  type: 'The token is not an access token (typ at+jwt)',
  algorithm: 'The signing algorithm is not accepted',
  unknown_key: 'The token is signed with an unknown key',
  signature: 'The signature is invalid',
  issuer: 'The token is from another issuer',
  audience: 'The token is for another audience',
  expired: 'The token has expired',
  issued_in_future: 'The token was issued in the future',
  not_yet_valid: 'The token is not valid yet',
  claims: 'A required claim is missing or invalid',
  lifetime: 'The token is valid for longer than 900 seconds',
  revoked: 'The token, its client or its key was revoked',
} as const

export type RefusalReason = keyof typeof DESCRIPTIONS

/** `valid` holds until the token expires, while its key stays the same. `undecided`: its key is unknown. */
export type TokenVerdict =
  | { verdict: 'valid'; token: VerifiedToken; signingKey: SigningKey; expiresAt_s: number }
  | { verdict: 'refused'; reason: RefusalReason; client?: TokenClient }
  | { verdict: 'undecided' }

export type VerifyToken = (token: string) => Promise<TokenVerdict>

export const refused = (reason: RefusalReason, client?: TokenClient): TokenVerdict => ({
  verdict: 'refused',
  reason,
  ...(client && { client }),
})

/** Verifies access tokens by RFC 9068 §4, except whether they were revoked. Never rejects. */
export function createTokenVerification(parts: {
  keys: SigningKeys
  issuer: string
  audience: string
  clock: { now(): number }
}): VerifyToken {
  const { keys, issuer, audience, clock } = parts
  return async (text) => {
    const header = protectedHeader(text)
    if (!header) return refused('malformed')
    const typ = typeof header.typ === 'string' ? header.typ : ''
    if (!/^(application\/)?at\+jwt$/i.test(typ)) return refused('type')
    if (header.alg !== 'ES256' && header.alg !== 'RS256') return refused('algorithm')
    if (typeof header.kid !== 'string') return refused('unknown_key')
    const key = await keys.find(header.kid)
    if (key === 'unknown') return refused('unknown_key')
    if (key === 'undecided') return { verdict: 'undecided' }
    if (key.alg !== header.alg) return refused('algorithm')
    try {
      const { payload } = await jwtVerify(text, key.publicKey, {
        algorithms: [key.alg],
        typ: 'at+jwt',
        issuer,
        audience,
        requiredClaims: REQUIRED_CLAIMS,
        clockTolerance: 0,
        currentDate: new Date(clock.now()),
      })
      return verifyClaims(payload, key, Math.floor(clock.now() / 1_000))
    } catch (error) {
      return refused(classifyError(error), readClient(error))
    }
  }
}

function protectedHeader(text: string) {
  if (text.length > TOKEN_LIMIT_CHARACTERS || !hasOneSpelling(text)) return undefined
  try {
    return decodeProtectedHeader(text)
  } catch {
    return undefined
  }
}

/**
 * Whether the signature is spelt as RFC 7515 §2 has it, without padding or spare bits. jose accepts those,
 * and every further spelling of a good token would be one more to verify and remember.
 */
function hasOneSpelling(text: string): boolean {
  const signature = text.slice(text.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}

/** Checks what jose does not: the types of our claims, a single audience, the token's life, and `iat`. */
function verifyClaims(payload: Record<string, unknown>, signingKey: SigningKey, now_s: number): TokenVerdict {
  const { aud, sub, client_id: clientId, vendor_id: vendorId, scope, jti, iat, exp } = payload
  if (typeof aud !== 'string') return refused('audience')
  if (typeof iat !== 'number' || typeof exp !== 'number') return refused('claims')
  if (!(exp - iat <= TOKEN_LIFE_MAX_S)) return refused('lifetime')
  if (iat > now_s + CLOCK_SKEW_S) return refused('issued_in_future')
  if (!isId(clientId) || sub !== clientId || !isId(vendorId) || !isId(jti)) return refused('claims')
  if (typeof scope !== 'string') return refused('claims')
  const token = { clientId, vendorId, scopes: scope.split(' '), jti, kid: signingKey.kid }
  return { verdict: 'valid', token, signingKey, expiresAt_s: exp }
}

const isId = (claim: unknown): claim is string =>
  typeof claim === 'string' && claim !== '' && claim.length <= CLAIM_LIMIT_CHARACTERS

/** jose checks claims only if the signature is right. */
function readClient(error: unknown): TokenClient | undefined {
  if (!(error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed))
    return undefined
  const { client_id: clientId, vendor_id: vendorId } = error.payload
  return isId(clientId) && isId(vendorId) ? { clientId, vendorId } : undefined
}

function classifyError(error: unknown): RefusalReason {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature'
  if (error instanceof errors.JWTExpired) return 'expired'
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'iss') return 'issuer'
    if (error.claim === 'aud') return 'audience'
    return error.claim === 'nbf' ? 'not_yet_valid' : 'claims'
  }
  return 'malformed'
}
