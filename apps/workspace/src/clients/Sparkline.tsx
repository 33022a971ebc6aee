import { BARS_HEIGHT, barsOf } from './bars.ts'

/** The shape of a client's last 14 days; the figure beside it says how much. */
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
      <path className="fill-bar" d={barsOf(counts, most)} />
    </svg>
  )
}
