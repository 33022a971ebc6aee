import type { JWTPayload } from 'jose'
import { invalidClient, type Refusal } from './refusal.ts'

const LIFE_MAX_S = 3_600
const AHEAD_MAX_S = 120
const JTI_MAX_CHARACTERS = 255

/** Returns what is wrong with the claims of an assertion (RFC 7523 §3, draft-ietf-oauth-rfc7523bis), if anything is. */
export function judgeClaims(
  claims: JWTPayload,
  { clientId, audiences, now_s }: { clientId: string; audiences: readonly unknown[]; now_s: number },
): Refusal | undefined {
  const { iss, sub, aud, jti } = claims
  if (iss !== clientId || sub !== clientId) return invalidClient('assertion_wrong_subject')
  const [audience, ...others] = [aud].flat()
  if (!audiences.includes(audience) || others.length > 0) return invalidClient('assertion_wrong_audience')
  const untimely = judgeDates(claims, now_s)
  if (untimely) return untimely
  const isId = typeof jti === 'string' && jti !== '' && jti.length <= JTI_MAX_CHARACTERS
  return isId ? undefined : invalidClient('assertion_no_jti')
}

/** A lifetime counts from `iat` if the sender's clock is a little ahead: libraries ask for exactly an hour. */
function judgeDates({ iat = 0, nbf = 0, exp }: JWTPayload, now_s: number): Refusal | undefined {
  if (typeof exp !== 'number') return invalidClient('assertion_no_exp')
  if (typeof iat !== 'number' || typeof nbf !== 'number') return invalidClient('assertion_malformed')
  const ahead_s = Math.max(iat, nbf) - now_s
  if (ahead_s > AHEAD_MAX_S) return invalidClient('assertion_from_the_future', seconds(ahead_s))
  if (exp <= now_s) return invalidClient('assertion_expired', seconds(now_s - exp))
  if (exp > Math.max(iat, now_s) + LIFE_MAX_S)
    return invalidClient('assertion_too_far_ahead', seconds(exp - now_s))
  return undefined
}

const seconds = (duration_s: number): string => String(Math.round(duration_s))
