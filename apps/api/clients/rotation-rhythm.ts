import type { DayOfUse } from './usage-days.ts'
import type { AddressOfUse } from './usage-history.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from './usage-windows.ts'

/** A token lives this long, so a system that works all the time gets another within it. */
export const TOKEN_LIFE_MS = 15 * MINUTE_MS
/** Days of use that have two whole gaps between them. */
const DAYS_LEAST = 3
/** A shorter history may have seen no weekend, so a pause of one is expected. */
const WEEK_SEEN_MS = 8 * DAY_MS
const WEEKEND_MS = 3 * DAY_MS
/** Expected of an address whose uses are not dated. */
const UNDATED_MS = 7 * DAY_MS

/** How long a client has paused between two uses, and how long it may pause before it counts as stopped. */
export interface Rhythm {
  longestGap_ms: number
  allowed_ms: number
}

/** The longest gap and a quarter more. */
export const withQuarter = (gap_ms: number): number => Math.max(TOKEN_LIFE_MS, gap_ms * 1.25)

const rhythmOf = (longestGap_ms: number, span_ms: number): Rhythm => ({
  longestGap_ms,
  allowed_ms: withQuarter(Math.max(longestGap_ms, span_ms < WEEK_SEEN_MS ? WEEKEND_MS : 0)),
})

/**
 * The rhythm of a client, or undefined if it has fewer than two whole gaps.
 * @param days oldest first.
 * @param leaving_ms since when systems may have left the client. Whatever uses it after a longer pause than ever since
 * then was hidden behind them, so nothing is known of its rhythm until it has gone on for about as long as it paused.
 */
export function rhythmOfClient(days: readonly DayOfUse[], leaving_ms: number): Rhythm | undefined {
  const [first] = days
  const last = days.at(-1)
  if (!first || !last || days.length < DAYS_LEAST) return undefined
  let longest_ms = first.longestGap_ms
  let back: { at_ms: number; after_ms: number } | undefined
  for (const [index, day] of days.entries()) {
    const before = days[index - 1]
    if (!before) continue
    const gap_ms = day.longestGap_ms
    if (day.lastUsedAt_ms > leaving_ms && gap_ms > withQuarter(longest_ms)) {
      const led = gap_ms <= day.firstUsedAt_ms - before.lastUsedAt_ms + MINUTE_MS
      // A gap within the day is not dated, so what followed it counts from the next day on.
      const at_ms = led ? day.firstUsedAt_ms : (days[index + 1]?.firstUsedAt_ms ?? day.lastUsedAt_ms)
      back = { at_ms, after_ms: gap_ms }
    }
    longest_ms = Math.max(longest_ms, gap_ms)
  }
  if (back && last.lastUsedAt_ms - back.at_ms < Math.max(HOUR_MS, back.after_ms / 1.25)) return undefined
  return rhythmOf(longest_ms, last.lastUsedAt_ms - first.firstUsedAt_ms)
}

/** The rhythm of an address; undefined if it was used once. Several machines behind one address count as one. */
export function rhythmOfAddress({ firstSeenAt_ms, seenAt_ms, longestGap_ms }: AddressOfUse) {
  if (firstSeenAt_ms === undefined) return rhythmOf(UNDATED_MS, WEEK_SEEN_MS)
  return firstSeenAt_ms < seenAt_ms ? rhythmOf(longestGap_ms, seenAt_ms - firstSeenAt_ms) : undefined
}
