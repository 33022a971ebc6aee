const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone

const UNITS = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const
const WEEK_DAYS_CLEAR_MS = 6 * 86_400_000

export type WallClock = ReturnType<typeof clockIn>

function clockIn(zone: string) {
  const format = (options: Intl.DateTimeFormatOptions, locale = 'en-GB') => {
    const { format } = new Intl.DateTimeFormat(locale, { timeZone: zone, ...options })
    return (at: Date): string => format(at)
  }
  const day = format({ dateStyle: 'medium' })
  const time = format({ timeStyle: 'short' })
  const weekday = format({ weekday: 'short' })
  // Swedish dates are ISO 8601.
  const isoDate = format({ dateStyle: 'short' }, 'sv-SE')
  return {
    /** The IANA name. */
    zone,
    /** "22 Nov 2026, 03:04" */
    dateTime: format({ dateStyle: 'medium', timeStyle: 'short' }),
    /** "22 Nov 2026, 03:04:05" */
    precise: format({ dateStyle: 'medium', timeStyle: 'medium' }),
    day,
    time,
    timeOfDay: format({ timeStyle: 'medium' }),
    /** "Wed, 25 Nov 2026, 03:04", so that a day within a week is not taken for another. */
    weekdayTime: format({
      ...{ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
      ...{ hour: '2-digit', minute: '2-digit' },
    }),
    /** "on 22 Nov 2026 at 03:04", in a sentence. */
    onDay: (at: Date) => `on ${day(at)} at ${time(at)}`,
    /** As a date input has it, "2027-01-31". */
    isoDate,
    /** "14:00" today, "Sat 14:00" in the last six days, else a date. */
    since(at: Date, now: Date): string {
      if (isoDate(at) === isoDate(now)) return time(at)
      return now.getTime() - at.getTime() > WEEK_DAYS_CLEAR_MS ? day(at) : `${weekday(at)} ${time(at)}`
    },
    /** "3 minutes ago", "in 2 months". A day is one of the calendar: "yesterday" ended at midnight. */
    relative(at: Date, now: Date): string {
      const seconds = (at.getTime() - now.getTime()) / 1000
      // Two months and two years ahead of themselves: "40 days" says more than "last month".
      const unit = UNITS.find(([, length]) => Math.abs(seconds) >= (length > 86_400 ? 2 * length : length))
      if (unit?.[0] === 'day') return RELATIVE.format(daysApart(isoDate(now), isoDate(at)), 'day')
      // A past time is rounded down, a future one to the nearest.
      const round = seconds < 0 ? Math.ceil : Math.round
      return unit ? RELATIVE.format(round(seconds / unit[1]), unit[0]) : 'just now'
    },
  }
}

export const BROWSER_CLOCK = clockIn(HERE)

/** Returns the clock of a time zone, or the browser's if it does not know the zone. */
export function createClock(zone: string): WallClock {
  try {
    return clockIn(zone)
  } catch {
    return BROWSER_CLOCK
  }
}

/** "22 Nov 2026, 03:04 Europe/Berlin", and what the clock of this browser showed then, if that differs. */
export function bothClocks(at: Date, { dateTime, zone }: WallClock): string {
  const [companyTime, localTime] = [dateTime(at), BROWSER_CLOCK.dateTime(at)]
  return `${companyTime} ${zone}${companyTime === localTime ? '' : ` (${localTime} ${HERE} your time)`}`
}

/** Returns how many days lie between two dates. */
export const daysApart = (from: string, to: string): number =>
  (Date.parse(to) - Date.parse(from)) / 86_400_000

/** Counts whole days on from a date. */
export const daysLater = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10)

const DURATIONS = [
  ['day', 2 * 86_400, 86_400],
  ['hour', 3_600, 3_600],
  ['minute', 60, 60],
] as const

/** "45 seconds", "4 minutes", "2 hours" or "3 days", rounded down. */
export function duration(seconds: number): string {
  const [unit, , length] = DURATIONS.find(([, from]) => seconds >= from) ?? ['second', 0, 1]
  const count = Math.floor(seconds / length)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** Whether `text` is a day of the years 1000 to 2999. A Date takes 31 November for 1 December. */
export function isDay(text: string): boolean {
  const at_ms = Date.parse(`${text}T00:00Z`)
  return /^[12]/.test(text) && !Number.isNaN(at_ms) && new Date(at_ms).toISOString().slice(0, 10) === text
}
