import { RANGE_MAX_DAYS } from '#shared/rules/ranges.ts'
import { daysApart, daysLater, isDay } from '../api/time.ts'
import type { SearchShape } from '../ui/search.ts'

export const PRESETS = [7, 30, 90, RANGE_MAX_DAYS] as const
export type Preset = (typeof PRESETS)[number]
export const DEFAULT_DAYS: Preset = 30

export interface DayRange {
  from: string
  to: string
}

/** The `days` days that end with `to`. */
export const lastDays = (days: number, to: string): DayRange => ({ from: daysLater(to, 1 - days), to })

/** The range of the same length that ends the day before it. */
export const rangeBefore = (range: DayRange): DayRange => lastDays(daysIn(range), daysLater(range.from, -1))

const daysIn = ({ from, to }: DayRange): number => daysApart(from, to) + 1

/** Returns why the API would refuse the range, as a sentence, undefined if it would not. */
export function rangeError({ from, to }: DayRange, today: string): string | undefined {
  if (!isDay(from) || !isDay(to)) return 'Choose both days.'
  if (to > today) return 'The range cannot end after today.'
  if (from > to) return 'The first day must not be after the last.'
  return daysIn({ from, to }) > RANGE_MAX_DAYS ? `At most ${RANGE_MAX_DAYS} days.` : undefined
}

/** The range in the address, and whether the one before is shown beside it. */
export const RANGE: SearchShape<Record<'days' | 'from' | 'to' | 'compare', string>> = {
  defaults: { days: String(DEFAULT_DAYS), from: '', to: '', compare: '' },
  accepts: { days: (text) => PRESETS.some((days) => String(days) === text), from: isDay, to: isDay },
}

/** Returns what the address asks for: whole days back from today, or a range of its own. */
export const chosenRange = ({ days, from, to }: (typeof RANGE)['defaults']): Preset | DayRange =>
  from && to ? { from, to } : (Number(days) as Preset)
