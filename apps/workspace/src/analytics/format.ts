import type { DailyAnalytics, Day, Metric } from '../api/contract.ts'
import { toCsv } from '../ui/download.ts'

export const METRIC_NAMES: Record<Metric, string> = {
  impressions: 'Impressions',
  clicks: 'Clicks',
  orders: 'Orders',
  unitsSold: 'Units sold',
  revenueMinor: 'Revenue',
  boostSpendMinor: 'Boost spend',
}
export const METRICS = Object.keys(METRIC_NAMES) as Metric[]

const COUNT = new Intl.NumberFormat('en')
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

const CHANGE = new Intl.NumberFormat('en', {
  style: 'percent',
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
})

const isMoney = (metric: Metric): boolean => metric.endsWith('Minor')

/** A metric for people: counts with separators, money in its currency, exact to the minor unit. */
export function metricText(metric: Metric, value: number, currency: string): string {
  if (!isMoney(metric)) return COUNT.format(value)
  const format = new Intl.NumberFormat('en', { style: 'currency', currency })
  return format.format(`${value}E-${minorDigits(currency)}` as `${number}`)
}

export const reportedDays = (days: readonly Day[]): number =>
  days.filter(({ status }) => status !== 'missing').length

/** "–" when no day was reported: that is not zero. */
export const totalText = (metric: Metric, { days, totals, currency }: DailyAnalytics): string =>
  reportedDays(days) === 0 ? '–' : metricText(metric, totals[metric], currency)

/** "+12%" since the range before, "–" if there is nothing to compare with. */
export function changeText(metric: Metric, now: DailyAnalytics, before: DailyAnalytics): string {
  const from = before.totals[metric]
  if (from === 0 || reportedDays(now.days) === 0 || reportedDays(before.days) === 0) return '–'
  return CHANGE.format(now.totals[metric] / from - 1)
}

/** The same in a few characters, for an axis. */
export const metricShort = (metric: Metric, value: number, currency: string): string =>
  COMPACT.format(isMoney(metric) ? value / 10 ** minorDigits(currency) : value)

const minorDigits = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2

const DATE = { timeZone: 'UTC' } as const
const WEEKDAY = new Intl.DateTimeFormat('en-GB', { ...DATE, weekday: 'short' })
const SHORT = new Intl.DateTimeFormat('en-GB', { ...DATE, day: 'numeric', month: 'short' })

/** Returns "Thu", "20 Nov" and "2026". @param date YYYY-MM-DD. */
export function dateParts(date: string): { weekday: string; short: string; year: string } {
  const at = new Date(`${date}T00:00:00Z`)
  return { weekday: WEEKDAY.format(at), short: SHORT.format(at), year: date.slice(0, 4) }
}

/** "Thu 20 Nov 2026" */
export const dateLong = (date: string): string => Object.values(dateParts(date)).join(' ')
export const dateShort = (date: string): string => dateParts(date).short

/** A missing day has empty cells, not zeros. Money is in minor units. */
export function dailyCsv({ days, currency }: DailyAnalytics): string {
  const names = METRICS.map((metric) => metric.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
  const rows = days.map((day) => [day.date, day.status, currency, ...METRICS.map((metric) => day[metric])])
  return toCsv([['date', 'status', 'currency', ...names], ...rows])
}
