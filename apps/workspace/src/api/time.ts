const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone

const formatsIn = (timeZone: string) => ({
  timeZone,
  dateTime: new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'medium', timeStyle: 'short' }),
  day: new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'medium' }),
  clock: new Intl.DateTimeFormat('en-GB', { timeZone, timeStyle: 'medium' }),
  clockShort: new Intl.DateTimeFormat('en-GB', { timeZone, timeStyle: 'short' }),
  weekDay: new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'short' }),
  weekDayTime: new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit' },
  }),
  // Swedish dates are ISO 8601.
  iso: new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }),
})

const local = formatsIn(HERE)
let formats = local

/**
 * Shows all times in a company's time zone from now on, and in the browser's without a company.
 * @param timezone IANA name. One that this browser does not know is ignored.
 */
export function setZone(timezone: string | undefined): void {
  try {
    formats = timezone === undefined ? local : formatsIn(timezone)
  } catch {
    formats = local
  }
}

/** The IANA name of the zone that times are shown in. */
export const zone = (): string => formats.timeZone

const UNITS = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** How many days lie between two dates. */
const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 86_400_000

/** "3 minutes ago", "in 2 months". A day is one of the calendar: "yesterday" ended at midnight. */
export function relative(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000
  // Two months and two years ahead of themselves: "40 days" says more than "last month".
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= (length > 86_400 ? 2 * length : length))
  if (unit?.[0] === 'day') return RELATIVE.format(daysBetween(isoDate(now), isoDate(at)), 'day')
  // A past time is rounded down, a future one to the nearest.
  const round = seconds < 0 ? Math.ceil : Math.round
  if (unit) return RELATIVE.format(round(seconds / unit[1]), unit[0])
  return 'just now'
}

export const dateTime = (at: Date): string => formats.dateTime.format(at)
export const day = (at: Date): string => formats.day.format(at)
export const clock = (at: Date): string => formats.clock.format(at)
export const clockShort = (at: Date): string => formats.clockShort.format(at)

/** "on 22 Nov 2026 at 03:04", in a sentence. */
export const onDay = (at: Date): string => `on ${day(at)} at ${clockShort(at)}`

/** "22 Nov 2026, 03:04 Europe/Berlin", and what the clock of this browser showed then, if that differs. */
export function bothClocks(at: Date): string {
  const [companyTime, localTime] = [dateTime(at), local.dateTime.format(at)]
  return `${companyTime} ${zone()}${companyTime === localTime ? '' : ` (${localTime} ${HERE} your time)`}`
}

const WEEK_DAYS_CLEAR_MS = 6 * 86_400_000

/** "Wed, 25 Nov 2026, 03:04", so that a day within a week is not taken for another. */
export const weekdayTime = (at: Date): string => formats.weekDayTime.format(at)

/** Returns when something lasting began: "14:00" today, "Sat 14:00" in the last six days, else a date. */
export function since(at: Date, now: Date): string {
  if (isoDate(at) === isoDate(now)) return clockShort(at)
  if (now.getTime() - at.getTime() > WEEK_DAYS_CLEAR_MS) return day(at)
  return `${formats.weekDay.format(at)} ${clockShort(at)}`
}

/** As a date input has it, "2027-01-31". */
export const isoDate = (at: Date): string => formats.iso.format(at).slice(0, 10)

/** When a day begins. @param date as a date input has it. */
export function midnight(date: string): Date {
  const begin = Date.parse(`${date}T00:00Z`)
  const guess = begin - offset_ms(begin)
  // If the clocks change between the guess and midnight, or at midnight, the day begins with the change.
  const better = new Date(begin - offset_ms(guess))
  return isoDate(better) < date ? new Date(guess) : better
}

/** How far the clocks are ahead of UTC. */
const offset_ms = (at_ms: number): number =>
  Date.parse(`${formats.iso.format(at_ms).replace(' ', 'T')}Z`) - Math.floor(at_ms / 1_000) * 1_000

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

/** Whether `text` is a day that exists. A Date takes 31 November for 1 December. */
export function isDay(text: string): boolean {
  const at_ms = Date.parse(`${text}T00:00Z`)
  return !Number.isNaN(at_ms) && new Date(at_ms).toISOString().slice(0, 10) === text
}
