import type { ClientUsage } from '../api/contract.ts'
import { day } from '../api/time.ts'
import { Time } from '../ui/Ago.tsx'
import { BARS_HEIGHT, barsOf } from './bars.ts'

export type Hour = ClientUsage['hours'][number]

const LEGEND = 'flex flex-wrap justify-between gap-x-5 gap-y-1 text-[13px] text-ink-3'
const KEY = 'before:me-1.5 before:inline-block before:size-2.5 before:forced-color-adjust-none'

/** Returns the tokens and refused requests of the busiest hour, 0 without an hour. */
export const mostInAnHour = (hours: readonly Hour[]): number =>
  Math.max(0, ...hours.map(({ tokens, refused }) => tokens + refused))

export interface HourChartProps {
  hours: readonly Hour[]
  /** The most in an hour of any chart that is drawn to this scale. */
  most: number
  label: string
}

/** Tokens per hour until now, and on top of them the requests that were refused. */
export function HourChart({ hours, most, label }: HourChartProps) {
  const tokens = hours.map((hour) => hour.tokens)
  const refused = hours.map((hour) => hour.refused)
  const first = hours[0]
  return (
    <figure className="grid gap-2">
      <svg
        className="h-24 w-full border-b border-line-strong"
        viewBox={`0 0 ${hours.length} ${BARS_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        <path className="usage-tokens fill-bar" d={barsOf(tokens, most)} />
        <path className="usage-refused fill-bad" d={barsOf(refused, most, tokens)} />
      </svg>
      <figcaption className={LEGEND}>
        <span>{first && <Time at={first.hour} format={day} />}</span>
        <span className={LEGEND}>
          <span className={`${KEY} before:bg-bar`}>Tokens per hour</span>
          {refused.some((count) => count > 0) && <span className={`${KEY} before:bg-bad`}>Refused</span>}
        </span>
        <span>now</span>
      </figcaption>
    </figure>
  )
}
