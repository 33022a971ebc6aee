const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const DATE_TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' })
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const CLOCK_SHORT = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' })

const UNITS = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** "3 minutes ago", "in 2 months". */
export function relative(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000
  // Two months and two years ahead of themselves: "40 days" says more than "last month".
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= (length > 86_400 ? 2 * length : length))
  // An age is rounded down; "in 2 days" is the nearest.
  const round = seconds < 0 ? Math.ceil : Math.round
  if (unit) return RELATIVE.format(round(seconds / unit[1]), unit[0])
  return 'just now'
}

export const dateTime = (at: Date): string => DATE_TIME.format(at)
export const day = (at: Date): string => DAY.format(at)
export const clock = (at: Date): string => CLOCK.format(at)
export const clockShort = (at: Date): string => CLOCK_SHORT.format(at)

const WEEK_DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short' })
const WEEK_DAY_OF_MONTH = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' })
const WEEK_DAYS_CLEAR_MS = 6 * 86_400_000

/** "Mon 9". */
export const weekday = (at: Date): string => WEEK_DAY_OF_MONTH.format(at)

/** When something began that lasts: "14:00" today, "Sat 14:00" in the last six days, and before that a date. */
export function since(at: Date, now: Date): string {
  if (at.toDateString() === now.toDateString()) return clockShort(at)
  if (now.getTime() - at.getTime() > WEEK_DAYS_CLEAR_MS) return day(at)
  return `${WEEK_DAY.format(at)} ${clockShort(at)}`
}

/** As a date input has it, "2027-01-31". */
export function dateOf(at: Date): string {
  const part = (number: number, width: number) => String(number).padStart(width, '0')
  return `${part(at.getFullYear(), 4)}-${part(at.getMonth() + 1, 2)}-${part(at.getDate(), 2)}`
}

/** "Tue 03:00" within six days of now, "22 Nov 2026, 03:00" before and after. */
export const near = (at: Date, now: Date): string =>
  Math.abs(at.getTime() - now.getTime()) < WEEK_DAYS_CLEAR_MS
    ? `${WEEK_DAY.format(at)} ${clockShort(at)}`
    : dateTime(at)

const DURATIONS = [
  ['day', 2 * 86_400, 86_400],
  ['hour', 3_600, 3_600],
  ['minute', 60, 60],
] as const

/** "4 minutes", "2 hours", "3 days"; below a minute "45 seconds". Rounded down. */
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
