import { type DailyAnalytics, METRICS } from '../api/contract.ts'

const HEADER = [
  'date',
  'status',
  'currency',
  'impressions',
  'clicks',
  'orders',
  'units_sold',
  'revenue_minor',
  'boost_spend_minor',
]

/** RFC 4180. A missing day has empty cells, not zeros; money is in minor units. */
export function csvOf({ days, currency }: DailyAnalytics): string {
  const rows = days.map((day) => [day.date, day.status, currency, ...METRICS.map((metric) => day[metric])])
  return [HEADER, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')
}

/** A spreadsheet takes text that begins with one of these for a formula. */
const FORMULA = /^[=+\-@\t\r]/

export function csvCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export function download(name: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: 'text/csv;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
