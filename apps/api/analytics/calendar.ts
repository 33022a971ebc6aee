import { Temporal } from 'temporal-polyfill'

/** Dates are ISO 8601 calendar dates, `YYYY-MM-DD`, in the proleptic Gregorian calendar. */

const DAY_MS = 86_400_000
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/

/** First and last date, both included. */
export interface DateRange {
  from: string
  to: string
}

/** One day of a time zone: 23, 24 or 25 hours, rarely something else. */
export interface ZoneDay {
  date: string
  /** When it begins, Unix time in ms. */
  start_ms: number
  /** When the next one begins. */
  end_ms: number
}

/**
 * Returns the day that a moment belongs to in an IANA time zone. This takes about 20 µs, so frequent callers
 * keep the result until `end_ms`, or use createDateFinder. No query derives a day on its own: with other
 * rules or other time zone data than those that end a day, an event could still reach a day that was called
 * final.
 * @throws RangeError for an unknown time zone.
 */
export function zoneDayAt(timezone: string, at_ms: number): ZoneDay {
  const start = Temporal.Instant.fromEpochMilliseconds(Math.floor(at_ms))
    .toZonedDateTimeISO(timezone)
    .startOfDay()
  const next = start.add({ days: 1 }).startOfDay()
  // Where clocks went back across midnight, an hour of the old date came again after the new day had begun. A
  // day stays in one piece: that hour is part of the new one.
  return at_ms < next.epochMilliseconds
    ? zoneDay(start, next)
    : zoneDay(next, next.add({ days: 1 }).startOfDay())
}

const zoneDay = (start: Temporal.ZonedDateTime, next: Temporal.ZonedDateTime): ZoneDay => ({
  date: start.toPlainDate().toString(),
  start_ms: start.epochMilliseconds,
  end_ms: next.epochMilliseconds,
})

/** Returns the date and the hour that clocks show in a time zone, or in UTC if the zone is unknown. */
export function clockIn(timezone: string, at_ms: number): { date: string; hour: number } {
  const zone = timezoneName(timezone) ?? 'UTC'
  const clock = Temporal.Instant.fromEpochMilliseconds(at_ms).toZonedDateTimeISO(zone)
  return { date: clock.toPlainDate().toString(), hour: clock.hour }
}

/**
 * Returns the IANA name of a time zone as it was typed, with its case corrected, or undefined if there is no
 * such zone. Intl would answer with the oldest of its names, such as Asia/Calcutta for Asia/Kolkata, which
 * newer systems may lack.
 */
export function timezoneName(typed: string): string | undefined {
  // An offset such as +02:00 has no daylight saving time, and only ICU has SystemV/EST5.
  if (!/^(?!systemv)[a-z]/i.test(typed)) return undefined
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(typed).timeZoneId
  } catch {
    return undefined
  }
}

const DAYS_CACHED_MAX = 5_000

/** Returns a function that finds the date of a moment. It caches days, since events come by the thousand. */
export function createDateFinder(timezone: string): (at_ms: number) => string {
  /** By UTC day, which overlaps up to three days of the zone. */
  const cache = new Map<number, ZoneDay[]>()
  return (at_ms) => {
    const utcDay = Math.floor(at_ms / DAY_MS)
    const cachedDays = cache.get(utcDay) ?? []
    const cachedDay = cachedDays.find(({ start_ms, end_ms }) => at_ms >= start_ms && at_ms < end_ms)
    if (cachedDay) return cachedDay.date
    if (cache.size >= DAYS_CACHED_MAX) cache.clear()
    const day = zoneDayAt(timezone, at_ms)
    cache.set(utcDay, [...cachedDays, day])
    return day.date
  }
}

/** Whether `text` is a date that exists, from 0001-01-01 (Postgres knows no year 0) to 9999-12-31. */
export function isDate(text: string): boolean {
  return DATE.test(text) && !text.startsWith('0000') && toDate(toNumber(text)) === text
}

/** Returns `date` moved by whole calendar days. */
export const addDays = (date: string, days: number): string => toDate(toNumber(date) + days)

/** Returns the number of days from `from` to `to`, negative if `to` is earlier. */
export const daysBetween = (from: string, to: string): number => toNumber(to) - toNumber(from)

/** Days since 1970-01-01. */
const toNumber = (date: string): number => Date.parse(`${date}T00:00:00Z`) / DAY_MS

const toDate = (number: number): string =>
  Number.isNaN(number) ? '' : new Date(number * DAY_MS).toISOString().slice(0, 10)
