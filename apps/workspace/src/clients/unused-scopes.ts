import type { Scope } from '#shared/oauth/scopes.ts'
import type { ClientUsage, OAuthClient } from '../api/contract.ts'

export const UNUSED_DAYS = 30
const DAY_MS = 86_400_000

/**
 * Returns the scopes that no token of the client had in 30 days, while another scope was used. Returns none
 * for a client that is younger or was not used at all.
 */
export function unusedScopes(
  { status, createdAt }: Pick<OAuthClient, 'status' | 'createdAt'>,
  scopes: ClientUsage['scopes'],
  now: Date,
): Scope[] {
  const since_ms = now.getTime() - UNUSED_DAYS * DAY_MS
  if (status === 'Revoked' || Date.parse(createdAt) > since_ms) return []
  const unused = scopes.filter(({ lastUsedAt }) => lastUsedAt === null || Date.parse(lastUsedAt) < since_ms)
  return unused.length < scopes.length ? unused.map(({ scope }) => scope) : []
}
