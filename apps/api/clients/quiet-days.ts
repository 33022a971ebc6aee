import { DAY_MS, MINUTE_MS } from './usage-windows.ts'

/**
 * How much later than the end of its quiet days a client is revoked, so that all uses in them are known by then. A use
 * waits in a process until it is stored: for seconds, or until Postgres is back, and without Postgres tokens are issued
 * from remembered records that are at most 5 minutes old. If a process stores nothing for a minute, `missingSince` is
 * the present.
 */
const UNSTORED_MS = 5 * MINUTE_MS

export const POSTPONED = ['replacement_unused', 'uses_may_be_missing'] as const

export interface QuietEvidence {
  createdAt: Date
  /** null: never. */
  lastUsedAt: Date | null
  /** The latest time before which a use may have been lost. */
  missingSince: Date | undefined
  /** Whether the Active replacement ever got a token. */
  replacementUsed: boolean
}

/**
 * Returns when an armed client is revoked if it gets no token until then, and what puts that off. Its quiet days begin
 * with its last use, or its creation if it has none, however long ago it was armed; but never before a time at which a
 * use may have been lost. Nothing is revoked while the replacement is unused.
 */
export function endOfQuietDays(
  quietDays: number,
  { createdAt, lastUsedAt, missingSince, replacementUsed }: QuietEvidence,
): { revokesAt: Date; postponed: (typeof POSTPONED)[number] | null } {
  const used_ms = (lastUsedAt ?? createdAt).getTime()
  const since_ms = Math.max(used_ms, missingSince?.getTime() ?? 0)
  const putOff = since_ms > used_ms ? 'uses_may_be_missing' : null
  return {
    revokesAt: new Date(since_ms + quietDays * DAY_MS + UNSTORED_MS),
    postponed: replacementUsed ? putOff : 'replacement_unused',
  }
}
