import type { Scope } from '#shared/oauth/scopes.ts'
import type { ClientUsage, OAuthClient } from '../api/contract.ts'
import { daysFrom } from './expiry.ts'

export const UNUSED_DAYS = 30

/**
 * Returns the scopes that no token of the client had in 30 days, while another scope was used. Returns none
 * for a client that is younger or was not used at all, or if uses since then may be missing.
 */
export function unusedScopes(
  { status, createdAt, usesMissingBefore }: Pick<OAuthClient, 'status' | 'createdAt' | 'usesMissingBefore'>,
  scopes: ClientUsage['scopes'],
  now: Date,
): Scope[] {
  const since_ms = daysFrom(now, -UNUSED_DAYS).getTime()
  const isKnownSince = [createdAt, usesMissingBefore ?? createdAt].every((at) => Date.parse(at) <= since_ms)
  if (status === 'Revoked' || !isKnownSince) return []
  const unused = scopes.filter(({ lastUsedAt }) => lastUsedAt === null || Date.parse(lastUsedAt) < since_ms)
  return unused.length < scopes.length ? unused.map(({ scope }) => scope) : []
}
