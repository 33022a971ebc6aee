import type { ClientRotation } from '../api/contract.ts'
import { weekday } from '../api/time.ts'

export const HOUR_MS = 3_600_000
/** The hours that the service keeps. */
const HOURS_PAST = 14 * 24
/** What comes later than these is drawn at the edge. */
const HOURS_AHEAD = { least: 24, most: 120 }

export interface Axis {
  now: Date
  from_ms: number
  /** The first hour of each day but the one that the axis begins with, and its name if there is room. */
  days: { at_ms: number; name: string; monday: boolean }[]
  /** Where a time is, in per cent of the width. Negative before the axis begins. */
  x: (at_ms: number) => string
}

/** 14 days, and as much of the future as the wait for the old client needs. */
export function axisOf({ expectedNextUseAt, safeFrom }: ClientRotation, now: Date): Axis {
  const now_ms = now.getTime()
  const from_ms = Math.floor(now_ms / HOUR_MS - HOURS_PAST + 1) * HOUR_MS
  const awaited = [expectedNextUseAt, safeFrom].map((at) => (Date.parse(at ?? '') - now_ms) / HOUR_MS || 0)
  const ahead = Math.min(Math.max(HOURS_AHEAD.least, ...awaited), HOURS_AHEAD.most)
  const to_ms = now_ms + ahead * HOUR_MS
  // A mark at the end has room for its second half.
  const share = (at_ms: number) => ((Math.min(at_ms, to_ms) - from_ms) / (to_ms - from_ms)) * 0.97
  const days: Axis['days'] = []
  let before = weekday(new Date(from_ms))
  for (let at_ms = from_ms + HOUR_MS; at_ms < to_ms; at_ms += HOUR_MS) {
    const name = weekday(new Date(at_ms))
    const monday = name.startsWith('Mon')
    const shown = share(at_ms) > 0.94 ? '' : monday ? name : name.slice(0, 3)
    if (name !== before) days.push({ at_ms, name: shown, monday })
    before = name
  }
  return { now, from_ms, days, x: (at_ms) => `${(share(at_ms) * 100).toFixed(2)}%` }
}
