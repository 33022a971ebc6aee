import { decodeProtectedHeader, errors, jwtVerify } from 'jose'
import { SCOPES, type Scope } from '#shared/oauth/scopes.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { RateLimitVerdict } from '#shared/stores/rate-limit.ts'
import type { ForgeryLimit } from './forgery-limit.ts'
import type { SigningKey, SigningKeys } from './signing-keys.ts'

/** How far the authorization server's clock may be ahead of this one. */
const CLOCK_SKEW_S = 120
const TOKEN_LIMIT_CHARACTERS = 8_192
const CLAIM_LIMIT_CHARACTERS = 200
const REQUIRED_CLAIMS = ['iss', 'aud', 'sub', 'client_id', 'vendor_id', 'scope', 'iat', 'exp', 'jti']

export interface VerifiedToken {
  clientId: string
  vendorId: string
  scopes: readonly Scope[]
  jti: string
  kid: string
}

/**
 * How long a verdict on a token whose signature is right stays true: as long as its key is the same, from one moment
 * on, and until the token expires, in Unix seconds.
 */
export interface Lasting {
  signingKey: SigningKey
  from_s: number
  expiresAt_s: number
}

export type RefusalReason =
  | 'malformed'
  | 'type'
  | 'algorithm'
  | 'unknown_key'
  | 'signature'
  | 'issuer'
  | 'audience'
  | 'expired'
  | 'issued_in_future'
  | 'not_yet_valid'
  | 'claims'
  | 'revoked'

/** `limited`: its address sent too many forged tokens. `undecided`: there are no keys to judge by. */
export type TokenVerdict =
  | { verdict: 'valid'; token: VerifiedToken; lasting: Lasting }
  | { verdict: 'refused'; reason: RefusalReason; lasting: Lasting | undefined }
  | { verdict: 'limited'; rate: RateLimitVerdict }
  | { verdict: 'undecided' }

export type VerifyToken = (token: string, clientAddress: string) => Promise<TokenVerdict>

export const refused = (reason: RefusalReason, lasting?: Lasting): TokenVerdict => ({
  verdict: 'refused',
  reason,
  lasting,
})

/** Judges access tokens by RFC 9068 §4, all but whether they were revoked. Never rejects. */
export function createTokenVerification({
  keys,
  issuer,
  audience,
  clock,
  forgeries,
}: {
  keys: SigningKeys
  issuer: string
  audience: string
  clock: Clock
  forgeries: ForgeryLimit
}): VerifyToken {
  return async (text, clientAddress) => {
    const header = protectedHeader(text)
    if (!header) return refused('malformed')
    if (!/^(application\/)?at\+jwt$/i.test(String(header.typ))) return refused('type')
    if (header.alg !== 'ES256' && header.alg !== 'RS256') return refused('algorithm')
    if (typeof header.kid !== 'string') return refused('unknown_key')
    const key = await keys.find(header.kid)
    if (!key) return keys.usable() ? refused('unknown_key') : { verdict: 'undecided' }
    if (key.alg !== header.alg) return refused('algorithm')
    // What is refused until here costs little; verifying does not.
    const over = forgeries.over(clientAddress)
    if (over) return { verdict: 'limited', rate: over }
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
      return judgeClaims(payload, key, Math.floor(clock.now() / 1_000))
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed))
        return refused(reasonOf(error), lastingOf(error, key))
      const rate = await forgeries.count(clientAddress)
      return rate.allowed ? refused('signature') : { verdict: 'limited', rate }
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
 * Whether the signature is written as RFC 7515 §2 has it, without padding or spare bits. jose takes it with them too,
 * and each other spelling of a good token would be one more to verify and remember.
 */
function hasOneSpelling(text: string): boolean {
  const signature = text.slice(text.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}

/** What jose does not look at: the types of our claims, one audience, and `iat`. */
function judgeClaims(payload: Record<string, unknown>, signingKey: SigningKey, now_s: number): TokenVerdict {
  const { aud, sub, client_id: clientId, vendor_id: vendorId, scope, jti, iat, exp } = payload
  const forGood = always(signingKey)
  if (typeof aud !== 'string') return refused('audience', forGood)
  if (typeof iat !== 'number' || typeof exp !== 'number') return refused('claims', forGood)
  if (iat > now_s + CLOCK_SKEW_S) return refused('issued_in_future')
  if (!isId(clientId) || sub !== clientId || !isId(vendorId) || !isId(jti)) return refused('claims', forGood)
  if (typeof scope !== 'string') return refused('claims', forGood)
  const granted = scope.split(' ')
  const scopes = SCOPES.filter((known) => granted.includes(known))
  const token = { clientId, vendorId, scopes, jti, kid: signingKey.kid }
  return { verdict: 'valid', token, lasting: { ...forGood, expiresAt_s: exp } }
}

const always = (signingKey: SigningKey): Lasting => ({
  signingKey,
  from_s: Number.NEGATIVE_INFINITY,
  expiresAt_s: Number.POSITIVE_INFINITY,
})

/** jose looks at claims only when the signature is right. A token whose time has not come yet may be good later. */
function lastingOf(error: unknown, signingKey: SigningKey): Lasting | undefined {
  if (error instanceof errors.JWTExpired)
    return { ...always(signingKey), from_s: error.payload.exp as number }
  if (error instanceof errors.JWTClaimValidationFailed && error.claim !== 'nbf') return always(signingKey)
  return undefined
}

const isId = (claim: unknown): claim is string =>
  typeof claim === 'string' && claim !== '' && claim.length <= CLAIM_LIMIT_CHARACTERS

function reasonOf(error: unknown): RefusalReason {
  if (error instanceof errors.JWTExpired) return 'expired'
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'iss') return 'issuer'
    if (error.claim === 'aud') return 'audience'
    if (error.claim === 'nbf') return 'not_yet_valid'
    return 'claims'
  }
  return 'malformed'
}
