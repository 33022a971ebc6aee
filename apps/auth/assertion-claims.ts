import type { JWTPayload } from 'jose'
import type { Workload } from '#shared/oauth/client-credentials.ts'
import { invalidClient, type OAuthRefusal } from './http.ts'

const LIFE_MAX_S = 3_600
const AHEAD_MAX_S = 120
const JTI_MAX_CHARACTERS = 255
const ISSUER_KEYS_MAX_S = 24 * 3_600
const SHOWN_CHARACTERS = 100

/** GitHub and GitLab make a token for each job. Others keep one in a file until it is about to expire. */
export const isSingleUse = (workload: Workload | null): boolean =>
  !workload || workload.platform === 'github' || workload.platform === 'gitlab'

/**
 * Returns the refusal if a client's assertion or its workload's token has a wrong claim (RFC 7523 §3,
 * draft-ietf-oauth-rfc7523bis). Each claim that names the client must match exactly.
 */
export function checkClaims(
  claims: JWTPayload,
  workload: Workload | null,
  { clientId, audiences, now_s }: { clientId: string; audiences: readonly unknown[]; now_s: number },
): OAuthRefusal | undefined {
  const names = workload ? { iss: workload.issuer, ...workload.claims } : { iss: clientId, sub: clientId }
  const [mismatch] = Object.entries(names).find(([name, value]) => claims[name] !== value) ?? []
  const reason = workload ? 'workload_wrong_claim' : 'assertion_wrong_subject'
  if (mismatch) return invalidClient(reason, describeClaim(mismatch, claims[mismatch]))
  const [audience, ...rest] = [claims.aud].flat()
  if (!audiences.includes(audience) || rest.length > 0)
    return invalidClient('assertion_wrong_audience', describeClaim('aud', claims.aud))
  const dateRefusal = checkDates(claims, workload, now_s)
  if (dateRefusal || !isSingleUse(workload)) return dateRefusal
  const { jti } = claims
  const isId = typeof jti === 'string' && jti !== '' && jti.length <= JTI_MAX_CHARACTERS
  return isId ? undefined : invalidClient('assertion_no_jti')
}

/** Returns a claim's name and value for the client's company. Only the signer can have chosen the value. */
function describeClaim(name: string, value: unknown): string {
  if (value === undefined) return name
  const text = typeof value === 'string' ? value : `not text: ${JSON.stringify(value)}`
  return `${name} ${text.slice(0, SHOWN_CHARACTERS).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')}`
}

/** The hour counts from `iat` for a platform's token, and for another if its sender's clock is ahead. */
function checkDates(claims: JWTPayload, workload: Workload | null, now_s: number) {
  const { iat = workload ? null : 0, nbf = 0, exp } = claims
  if (typeof exp !== 'number') return invalidClient('assertion_no_exp')
  if (typeof iat !== 'number' || typeof nbf !== 'number') return invalidClient('assertion_malformed')
  const ahead_s = Math.max(iat, nbf) - now_s
  if (ahead_s > AHEAD_MAX_S) return invalidClient('assertion_from_the_future', seconds(ahead_s))
  if (exp <= now_s) return invalidClient('assertion_expired', seconds(now_s - exp))
  const start_s = workload ? iat : Math.max(iat, now_s)
  if (exp > start_s + LIFE_MAX_S) return invalidClient('assertion_too_far_ahead', seconds(exp - now_s))
  const isOld = workload?.keysFrom === 'issuer' && now_s - workload.keysAsOf_ms / 1_000 > ISSUER_KEYS_MAX_S
  return isOld ? invalidClient('workload_old_keys') : undefined
}

const seconds = (duration_s: number): string => String(Math.round(duration_s))
