import type { ClientUsage } from '../api/contract.ts'
import { Time } from '../ui/Time.tsx'

export type Hour = ClientUsage['hours'][number]

const LEGEND = 'flex flex-wrap justify-between gap-x-5 gap-y-1 text-sm text-muted'
const KEY =
  '[print-color-adjust:exact] before:me-1.5 before:inline-block before:size-2.5 before:forced-color-adjust-none'

/** Returns the tokens and refused requests of the busiest hour, 0 without an hour. */
export const mostInAnHour = (hours: readonly Hour[]): number =>
  Math.max(0, ...hours.map(({ tokens, refused }) => tokens + refused))

/** "1,234 tokens issued, no requests refused." */
export function countWords(hours: readonly Hour[]): string {
  const tokens = hours.reduce((sum, hour) => sum + hour.tokens, 0)
  const refused = hours.reduce((sum, hour) => sum + hour.refused, 0)
  const words = (count: number, none: string, what: string) =>
    `${count === 0 ? none : count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`
  return `${words(tokens, 'No', 'token')} issued, ${words(refused, 'no', 'request')} refused.`
}

export interface HourChartProps {
  hours: readonly Hour[]
  /** The most in an hour of any chart that is drawn to this scale. */
  most?: number
}

/** Tokens per hour until now, and on top of them the requests that were refused. */
export function HourChart({ hours, most = mostInAnHour(hours) }: HourChartProps) {
  const tokens = hours.map((hour) => hour.tokens)
  const refusals = hours.map((hour) => hour.refused)
  const first = hours[0]
  return (
    <figure className="grid gap-2">
      <svg
        className="h-24 w-full border-b border-line-strong"
        viewBox={`0 0 ${hours.length} ${BARS_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Tokens and refused requests per hour. ${countWords(hours)}`}
      >
        <path className="usage-tokens fill-bar" d={drawBars(tokens, most)} />
        <path className="usage-refused fill-bad" d={drawBars(refusals, most, tokens)} />
      </svg>
      <figcaption className={LEGEND}>
        <span>{first && <Time at={first.hour} format="day" />}</span>
        <span className={LEGEND}>
          <span className={`${KEY} before:bg-bar`}>Tokens per hour</span>
          {refusals.some((count) => count > 0) && <span className={`${KEY} before:bg-bad`}>Refused</span>}
        </span>
        <span>now</span>
      </figcaption>
    </figure>
  )
}

/** The shape of a client's last 14 days. The figure beside it is the amount. */
export function Sparkline({ counts }: { counts: readonly number[] }) {
  const most = Math.max(...counts)
  return (
    <svg
      className="sparkline h-5 w-14 border-b border-line-strong align-middle"
      viewBox={`0 0 ${counts.length} ${BARS_HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <title>{`Tokens a day for ${counts.length} days, at most ${most.toLocaleString('en')}`}</title>
      <path className="fill-bar" d={drawBars(counts, most)} />
    </svg>
  )
}

/** The height of a drawing of bars. Each bar is 1 wide. */
const BARS_HEIGHT = 100

/** The least that something which happened is high, so that it is seen in a low drawing too. */
const LOWEST = 8

/**
 * Returns an SVG path with a bar for each count above 0.
 * @param most the highest count, or the highest sum of two that stand on each other
 * @param below the counts whose bars these stand on
 */
const drawBars = (counts: readonly number[], most: number, below: readonly number[] = []): string =>
  counts
    .map((count, index) => ({
      index,
      height: scaleHeight(count, most),
      foot: BARS_HEIGHT - scaleHeight(below[index] ?? 0, most),
    }))
    .filter(({ height }) => height > 0)
    .map(({ index, height, foot }) => `M${index},${foot.toFixed(1)}h0.8v${-height.toFixed(1)}h-0.8z`)
    .join('')

// The room above the highest sum is for a second bar that is drawn higher than its count.
const scaleHeight = (count: number, most: number): number =>
  count > 0 ? Math.max(LOWEST, (count / most) * (BARS_HEIGHT - LOWEST)) : 0
