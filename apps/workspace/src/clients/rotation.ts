import type { OAuthClient } from '../api/contract.ts'
import { useNow } from '../ui/Ago.tsx'

/**
 * A token lives 15 minutes, so whatever runs all the time asks for another within that time. A client that has not
 * been asked for this long is used by nothing that runs all the time.
 */
export const QUIET_S = 15 * 60

export interface Progress {
  step: 'create' | 'deploy' | 'watch' | 'revoke' | 'done'
  replacementUsed: boolean
  /** Seconds since the old client last asked for a token; undefined: it never did. */
  quietSeconds: number | undefined
  /** Why the old client should not be revoked yet. */
  caution: string
}

/** How far a rotation has come, from what the two clients have asked for. */
export function progressOf(old: OAuthClient, replacement: OAuthClient | undefined, now: Date): Progress {
  const replacementUsed = replacement !== undefined && replacement.lastUsedAt !== null
  const quietSeconds =
    old.lastUsedAt === null ? undefined : Math.max(0, (now.getTime() - Date.parse(old.lastUsedAt)) / 1000)
  const quiet = quietSeconds === undefined || quietSeconds >= QUIET_S
  const step =
    old.status === 'Revoked'
      ? 'done'
      : !replacement
        ? 'create'
        : !replacementUsed
          ? 'deploy'
          : quiet
            ? 'revoke'
            : 'watch'
  return { step, replacementUsed, quietSeconds, caution: cautionOf(replacementUsed) }
}

const cautionOf = (replacementUsed: boolean): string =>
  replacementUsed
    ? 'The old client asked for a token less than 15 minutes ago: some system may still use it, and would stop working.'
    : 'The replacement has not asked for a token yet: whatever uses the old client would stop working.'

export const useProgress = (old: OAuthClient, replacement: OAuthClient | undefined): Progress =>
  progressOf(old, replacement, useNow())
