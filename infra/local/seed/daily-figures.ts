import { createHash } from 'node:crypto'
import { Temporal } from 'temporal-polyfill'
import type { ReportedDay } from '#shared/analytics/daily.ts'
import type { DemoTrade } from './companies.ts'

const BOOST_DAY_SHARE = 0.3
const BOOST_REACH = 1.45
/** A typical day differs from its neighbours by up to this share, either way. */
const NOISE = 0.16
/** Sales grow by this much per year from this day on, so that a chart has a slope. */
const GROWTH_A_YEAR = 0.35
const GROWTH_FROM = Temporal.PlainDate.from('2026-01-01')
const DAYS_A_YEAR = 365
const DAY_MS = 86_400_000
/** The last events of a day that is over. */
const CLOSING_TIME = Temporal.PlainTime.from('23:52:40')

/**
 * Returns a company's figures from `from` through today in its own time zone. Today's figures go up to `now` (Unix time
 * in milliseconds). The same company and day always give the same figures.
 */
export function dailyFigures(company: {
  vendorId: string
  timezone: string
  trade: DemoTrade
  from: Temporal.PlainDate
  now: number
}): ReportedDay[] {
  const { vendorId, timezone, trade, from, now } = company
  const today = dateAt(now, timezone)
  const days: ReportedDay[] = []
  for (let date = from; Temporal.PlainDate.compare(date, today) <= 0; date = date.add({ days: 1 })) {
    const isToday = date.equals(today)
    const passed = isToday ? Math.min(1, (now - startOf(date, timezone)) / DAY_MS) : 1
    const closing = date.toZonedDateTime({ timeZone: timezone, plainTime: CLOSING_TIME }).epochMilliseconds
    days.push({
      date: date.toString(),
      ...figures(vendorId, date, trade, passed),
      lastEventAt: new Date(isToday ? now : closing),
    })
  }
  return days
}

/** The date of an instant in a time zone. */
export const dateAt = (instant_ms: number, timezone: string): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(instant_ms).toZonedDateTimeISO(timezone).toPlainDate()

const startOf = (date: Temporal.PlainDate, timezone: string): number =>
  date.toZonedDateTime(timezone).epochMilliseconds

function figures(vendorId: string, date: Temporal.PlainDate, trade: DemoTrade, passed: number) {
  const chance = chances(`${vendorId} ${date}`)
  const differing = () => 1 + NOISE * (2 * chance() - 1)
  const years = GROWTH_FROM.until(date, { largestUnit: 'days' }).days / DAYS_A_YEAR
  const level = (trade.week[date.dayOfWeek - 1] ?? 1) * (1 + GROWTH_A_YEAR * Math.max(0, years))
  const boosted = chance() < BOOST_DAY_SHARE
  const reach = trade.impressions * level * differing() * (boosted ? BOOST_REACH : 1) * passed
  const impressions = Math.round(reach)
  const clicks = Math.round(reach * trade.clickRate * differing())
  const orders = Math.round(clicks * trade.orderRate * differing())
  return {
    impressions,
    clicks,
    orders,
    unitsSold: Math.max(orders, Math.round(orders * trade.unitsPerOrder * differing())),
    revenueMinor: Math.round(orders * trade.orderValueMinor * differing()),
    boostSpendMinor: boosted ? Math.round(clicks * trade.boostClickCostMinor * differing()) : 0,
  }
}

/** Generates numbers from 0 to 1 that depend only on `seed`. */
function chances(seed: string): () => number {
  const bytes = createHash('sha256').update(seed).digest()
  let position = 0
  return () => {
    const value = bytes.readUInt32BE(position) / 2 ** 32
    position = (position + 4) % bytes.length
    return value
  }
}
