import type { JWTPayload } from 'jose'
import type { Workload } from '#shared/oauth/client-credentials.ts'
import { invalidClient, type Refusal } from './refusal.ts'

const LIFE_MAX_S = 3_600
const AHEAD_MAX_S = 120
const JTI_MAX_CHARACTERS = 255
const ISSUER_KEYS_MAX_S = 24 * 3_600
const SHOWN_CHARACTERS = 100
/** They make a token for each request. Other platforms keep one in a file until it is about to expire. */
const SINGLE_USE = /^https:\/\/(?:token\.actions\.githubusercontent\.com|gitlab\.com)(?:\/|$)/

export const isSingleUse = (workload: Workload | null): boolean =>
  !workload || SINGLE_USE.test(workload.issuer)

/**
 * Returns what is wrong with the claims of a client's own assertion, or of its workload's token, if anything is (RFC 7523
 * §3, draft-ietf-oauth-rfc7523bis). Each claim that names the client must be exactly that text.
 */
export function judgeClaims(
  claims: JWTPayload,
  workload: Workload | null,
  { clientId, audiences, now_s }: { clientId: string; audiences: readonly unknown[]; now_s: number },
): Refusal | undefined {
  const names = workload ? { iss: workload.issuer, ...workload.claims } : { iss: clientId, sub: clientId }
  const [wrong] = Object.entries(names).find(([name, value]) => claims[name] !== value) ?? []
  const reason = workload ? 'workload_wrong_claim' : 'assertion_wrong_subject'
  if (wrong) return invalidClient(reason, shown(wrong, claims[wrong]))
  const [audience, ...others] = [claims.aud].flat()
  if (!audiences.includes(audience) || others.length > 0)
    return invalidClient('assertion_wrong_audience', shown('aud', claims.aud))
  const untimely = judgeDates(claims, workload, now_s)
  const { jti } = claims
  const isId = typeof jti === 'string' && jti !== '' && jti.length <= JTI_MAX_CHARACTERS
  return untimely ?? (isId || !isSingleUse(workload) ? undefined : invalidClient('assertion_no_jti'))
}

/** The name of a claim and what was sent, for the client's company: only the signer can have chosen it. */
function shown(name: string, value: unknown): string {
  if (value === undefined) return name
  const text = typeof value === 'string' ? value : `not text: ${JSON.stringify(value)}`
  return `${name} ${text.slice(0, SHOWN_CHARACTERS).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')}`
}

/** A lifetime counts from `iat` if the sender's clock is a little ahead: libraries ask for exactly an hour. */
function judgeDates({ iat = 0, nbf = 0, exp }: JWTPayload, workload: Workload | null, now_s: number) {
  if (typeof exp !== 'number') return invalidClient('assertion_no_exp')
  if (typeof iat !== 'number' || typeof nbf !== 'number') return invalidClient('assertion_malformed')
  const ahead_s = Math.max(iat, nbf) - now_s
  if (ahead_s > AHEAD_MAX_S) return invalidClient('assertion_from_the_future', seconds(ahead_s))
  if (exp <= now_s) return invalidClient('assertion_expired', seconds(now_s - exp))
  // A platform's token lives for an hour in all.
  const from_s = workload && iat > 0 ? iat : Math.max(iat, now_s)
  if (exp > from_s + LIFE_MAX_S) return invalidClient('assertion_too_far_ahead', seconds(exp - now_s))
  const isOld = workload?.keysFrom === 'issuer' && now_s - workload.keysAsOf_ms / 1_000 > ISSUER_KEYS_MAX_S
  return isOld ? invalidClient('workload_old_keys') : undefined
}

const seconds = (duration_s: number): string => String(Math.round(duration_s))
