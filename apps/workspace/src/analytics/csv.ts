import { type DailyAnalytics, METRICS } from '../api/contract.ts'
import { csvOfRows } from '../ui/csv.ts'

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

/** A missing day has empty cells, not zeros; money is in minor units. */
export function csvOf({ days, currency }: DailyAnalytics): string {
  const rows = days.map((day) => [day.date, day.status, currency, ...METRICS.map((metric) => day[metric])])
  return csvOfRows([HEADER, ...rows])
}
