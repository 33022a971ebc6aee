import type { ClientUsage } from '../api/contract.ts'

type Hours = ClientUsage['hours']

const HOUR_MS = 3_600_000
/** So many of the last days say whether an hour is a habit, and such a part of them must agree. */
const DAYS_LEAST = 3
const PART_LEAST = 0.7
/** A client with more habitual hours a day than this works in stretches, of which one hour stands for the others. */
const SINGLE_HOURS = 8
/** With this many it is asked around the clock: how long it is quiet says more. */
const AROUND_THE_CLOCK = 20
const WEEK_DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const LIST = new Intl.ListFormat('en')

/** A time that comes again each day, or each week, at which a client requests tokens. */
interface Habit {
  every: 'day' | 'week'
  /** Hours of the day, of this browser's clock. */
  hours: number[]
  weekDay: number | undefined
}

/**
 * Why it is too early to revoke the old client, judged by when it usually requests tokens.
 * @param hours of the old client: every hour of 14 days, oldest first; the last one is not over.
 * @param deployedAt when the replacement first requested a token.
 * @returns a sentence, or undefined when its habits say nothing against it.
 */
export function unprovenHabit(hours: Hours, deployedAt: Date): string | undefined {
  const habit = habitOf(hours, deployedAt)
  if (!habit) return undefined
  const since = passedSince(hours, deployedAt).filter(({ hour }) => fits(habit, new Date(hour)))
  const again = since.findLast(({ tokens }) => tokens > 0)
  if (again)
    return `The old client still requests tokens ${said(habit)}; the last time was after you deployed.`
  const seen = new Set(since.map(({ hour }) => new Date(hour).getHours()))
  const missing = habit.hours.filter((hour) => !seen.has(hour))
  const enough = habit.hours.length > SINGLE_HOURS ? seen.size > 0 : missing.length === 0
  if (enough) return undefined
  const open = habit.hours.length > SINGLE_HOURS ? habit : { ...habit, hours: missing }
  return `The old client requests tokens ${said(open)}; that has not passed since you deployed.`
}

/**
 * When a replacement first requested a token, to the hour.
 * @param since what came before was a trial.
 */
export function deployedAt(hours: Hours, since: Date): Date | undefined {
  const first = hours.find(({ hour, tokens }) => tokens > 0 && Date.parse(hour) + HOUR_MS > since.getTime())
  return first && new Date(Math.max(Date.parse(first.hour), since.getTime()))
}

/** Whole hours that began after the moment, and are over. */
const passedSince = (hours: Hours, at: Date): Hours =>
  hours.slice(0, -1).filter(({ hour }) => Date.parse(hour) > at.getTime())

/** Judged by the time before the replacement took over. */
function habitOf(hours: Hours, until: Date): Habit | undefined {
  const first = hours.findIndex(({ tokens }) => tokens > 0)
  const past =
    first < 0 ? [] : hours.slice(first).filter(({ hour }) => Date.parse(hour) + HOUR_MS <= until.getTime())
  const daily = [...Map.groupBy(past, ({ hour }) => new Date(hour).getHours())]
    .filter(([, ofHour]) => ofHour.length >= DAYS_LEAST && partInUse(ofHour) >= PART_LEAST)
    .map(([hour]) => hour)
    .sort((a, b) => a - b)
  if (daily.length >= AROUND_THE_CLOCK) return undefined
  if (daily.length > 0) return { every: 'day', hours: daily, weekDay: undefined }
  return weekly(past)
}

const partInUse = (hours: Hours): number => hours.filter(({ tokens }) => tokens > 0).length / hours.length

/** The same hours of the same day, a week apart, and no others. */
function weekly(past: Hours): Habit | undefined {
  const used = past.filter(({ tokens }) => tokens > 0).map(({ hour }) => new Date(hour))
  const days = new Set(used.map((at) => at.toDateString()))
  const [weekDay, ...others] = new Set(used.map((at) => at.getDay()))
  if (days.size < 2 || weekDay === undefined || others.length > 0) return undefined
  const hours = [...Map.groupBy(used, (at) => at.getHours())]
    .filter(([, ofHour]) => ofHour.length === days.size)
    .map(([hour]) => hour)
  return hours.length > 0 ? { every: 'week', hours: hours.sort((a, b) => a - b), weekDay } : undefined
}

const fits = ({ hours, weekDay }: Habit, at: Date): boolean =>
  hours.includes(at.getHours()) && (weekDay === undefined || at.getDay() === weekDay)

/** "every night at 02:00", "every Monday at 03:00 and 04:00", "every day between 08:00 and 18:00". */
function said({ every, hours, weekDay }: Habit): string {
  const night = hours.every((hour) => hour >= 22 || hour < 6)
  const when = every === 'week' ? (WEEK_DAYS[weekDay ?? 0] as string) : night ? 'night' : 'day'
  if (hours.length > SINGLE_HOURS) {
    return `every ${when} between ${clockOf(hours[0] as number)} and ${clockOf((hours.at(-1) as number) + 1)}`
  }
  return `every ${when} at ${LIST.format(hours.map(clockOf))}`
}

const clockOf = (hour: number): string => `${String(hour).padStart(2, '0')}:00`
