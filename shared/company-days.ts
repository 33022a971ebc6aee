import { Temporal } from 'temporal-polyfill'

const DAY_MS = 86_400_000
const DAYS_REMEMBERED = 5_000

/*
 * A day runs from its first instant to the first instant of the next one, in the company's time zone. It lasts 23
 * or 25 hours where the clocks change. What says which day an event belongs to and what says when a day ends must
 * be the same rules and the same time zone data, or an event could still reach a day that was called final: so
 * both are here, and no query derives a day by itself.
 */

/** The first instant after `date` (`YYYY-MM-DD`) in `timezone`, in milliseconds since the epoch. */
export function dayEnd_ms(date: string, timezone: string): number {
  return startOf(Temporal.PlainDate.from(date).add({ days: 1 }), timezone)
}

const startOf = (date: Temporal.PlainDate, timezone: string): number =>
  date.toZonedDateTime(timezone).epochMilliseconds

/** `YYYY-MM-DD` of the day that an instant lies in, in milliseconds since the epoch. */
export type DayOf = (instant_ms: number) => string

/** Finds days of one time zone. It remembers those that it met, for events come by the thousand for a few days. */
export function createDayOf(timezone: string): DayOf {
  let days = new Map<number, { date: string; start_ms: number; end_ms: number }[]>()
  let remembered = 0

  function find(instant_ms: number) {
    const local = Temporal.Instant.fromEpochMilliseconds(instant_ms)
      .toZonedDateTimeISO(timezone)
      .toPlainDate()
    // Where clocks were set back across midnight, an hour of the old date came again after the new day had begun.
    const date = instant_ms < startOf(local.add({ days: 1 }), timezone) ? local : local.add({ days: 1 })
    return {
      date: date.toString(),
      start_ms: startOf(date, timezone),
      end_ms: startOf(date.add({ days: 1 }), timezone),
    }
  }

  return (instant_ms) => {
    const utcDay = Math.floor(instant_ms / DAY_MS)
    const known = days.get(utcDay) ?? []
    const met = known.find(({ start_ms, end_ms }) => start_ms <= instant_ms && instant_ms < end_ms)
    if (met) return met.date
    if (++remembered > DAYS_REMEMBERED) {
      days = new Map()
      remembered = 1
    }
    const found = find(instant_ms)
    days.set(utcDay, [...known, found])
    return found.date
  }
}
