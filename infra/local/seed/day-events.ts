import { createHash } from 'node:crypto'
import type { ZoneDay } from '../../../apps/api/analytics/calendar.ts'
import type { AnalyticsEvent } from '../../../apps/api/analytics/event.ts'
import type { DemoTrade } from './companies.ts'

const BOOST_DAY_SHARE = 0.3
const BOOST_REACH = 1.45
/** A typical day differs from its neighbours by up to this share, either way. */
const NOISE = 0.16
/** From the last events of a day to its end. */
const QUIET_MS = 440_000

/**
 * Returns a company's events of a day, of today up to `now_ms`. The same company and day always give the same
 * figures.
 */
export function dayEvents(
  vendorId: string,
  trade: DemoTrade,
  { date, start_ms, end_ms }: ZoneDay,
  now_ms: number,
): AnalyticsEvent[] {
  const chance = chances(`${vendorId} ${date}`)
  const differing = (typical: number) => Math.round(typical * (1 + NOISE * (2 * chance() - 1)))
  const passed = Math.min(1, (now_ms - start_ms) / (end_ms - start_ms))
  const occurredAt_ms = passed < 1 ? now_ms : end_ms - QUIET_MS
  const boosted = chance() < BOOST_DAY_SHARE
  const level = trade.week[(new Date(date).getUTCDay() + 6) % 7] ?? 1
  const impressions = differing(trade.impressions * level * (boosted ? BOOST_REACH : 1) * passed)
  const clicks = differing(impressions * trade.clickRate)
  const orders = differing(clicks * trade.orderRate)
  const event = (
    type: AnalyticsEvent['type'],
    quantity: number | null,
    amountMinor: number | null,
    n = 0,
  ) => ({ eventId: `demo-${date}-${type}-${n}`, ...{ type, occurredAt_ms, date, quantity, amountMinor } })
  return [
    event('impression', impressions, null),
    event('click', clicks, null),
    ...Array.from({ length: orders }, (_, n) =>
      event('order', Math.max(1, differing(trade.unitsPerOrder)), differing(trade.orderValueMinor), n),
    ),
    ...(boosted ? [event('boost_spend', null, differing(clicks * trade.boostClickCostMinor))] : []),
  ].filter(({ quantity }) => quantity !== 0)
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
