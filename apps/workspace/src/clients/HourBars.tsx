import type { ClientUsage } from '../api/contract.ts'
import { barsOf } from './bars.ts'

type Hour = ClientUsage['hours'][number]

/** Returns the tokens and refused requests of the busiest hour, 0 without an hour. */
export const mostInAnHour = (hours: readonly Hour[]): number =>
  Math.max(0, ...hours.map(({ tokens, refused }) => tokens + refused))

/**
 * Tokens per hour, and on top of them the requests that were refused.
 * @param most the most in an hour of any chart that is drawn to this scale
 */
export function HourBars({ hours, most }: { hours: readonly Hour[]; most: number }) {
  const tokens = hours.map((hour) => hour.tokens)
  const refused = hours.map((hour) => hour.refused)
  return (
    <>
      <path className="usage-tokens fill-bar" d={barsOf(tokens, most)} />
      <path className="usage-refused fill-bad" d={barsOf(refused, most, tokens)} />
    </>
  )
}
