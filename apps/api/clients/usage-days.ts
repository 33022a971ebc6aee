import { DAY_MS } from './usage-windows.ts'

/** When a client was used on a day (UTC), to the minute. Times are in milliseconds since the Unix epoch. */
export interface DayOfUse {
  day_ms: number
  firstUsedAt_ms: number
  lastUsedAt_ms: number
  /** The longest time without a use that ended on this day. It may have begun days before. */
  longestGap_ms: number
}

/** The days of some uses in order. Their gaps are those within `minutes`: what came before is not known here. */
export interface NewDay extends DayOfUse {
  /** The use before the first one of this day, if it is among these. */
  before_ms: number | undefined
}

/** @param minutes the minutes in which the client was used, oldest first. */
export function daysOfUse(minutes: readonly number[]): NewDay[] {
  const days: NewDay[] = []
  let before_ms: number | undefined
  for (const at_ms of minutes) {
    const day_ms = at_ms - (at_ms % DAY_MS)
    const day = days.at(-1)
    if (day?.day_ms === day_ms) {
      day.longestGap_ms = Math.max(day.longestGap_ms, at_ms - day.lastUsedAt_ms)
      day.lastUsedAt_ms = at_ms
    } else days.push({ day_ms, firstUsedAt_ms: at_ms, lastUsedAt_ms: at_ms, longestGap_ms: 0, before_ms })
    before_ms = at_ms
  }
  for (const day of days)
    if (day.before_ms !== undefined)
      day.longestGap_ms = Math.max(day.longestGap_ms, day.firstUsedAt_ms - day.before_ms)
  return days
}

/** Adds days of later use to those that are stored, as the statement in usage.ts does. Both are oldest first. */
export function withDays(stored: readonly DayOfUse[], more: readonly NewDay[]): DayOfUse[] {
  const days = [...stored]
  for (const { before_ms, ...day } of more) {
    const last = days.at(-1)
    const lead_ms = last && before_ms === undefined ? day.firstUsedAt_ms - last.lastUsedAt_ms : 0
    day.longestGap_ms = Math.max(day.longestGap_ms, lead_ms)
    if (last?.day_ms !== day.day_ms) {
      if (!last || last.day_ms < day.day_ms) days.push(day)
      continue
    }
    days[days.length - 1] = {
      day_ms: day.day_ms,
      firstUsedAt_ms: Math.min(last.firstUsedAt_ms, day.firstUsedAt_ms),
      lastUsedAt_ms: Math.max(last.lastUsedAt_ms, day.lastUsedAt_ms),
      longestGap_ms: Math.max(last.longestGap_ms, day.longestGap_ms),
    }
  }
  return days
}
