import type { ClientUsage } from '../api/contract.ts'
import { useNow } from '../ui/Ago.tsx'
import { BARS_HEIGHT, barsOf } from './bars.ts'
import './usage.css'

const DAY_MS = 86_400_000
const HOURS_SHOWN = 7 * 24
/** The service keeps no more of a client. */
const ADDRESSES_MOST = 20

export interface LaneHistoryProps {
  /** Undefined while it loads. */
  usage: ClientUsage | undefined
  /** The other lane's hours, so that both have the same scale. */
  other: ClientUsage | undefined
}

/** Tokens an hour for 7 days and a minute for the last hour, and from how many addresses. */
export function LaneHistory({ usage, other }: LaneHistoryProps) {
  const hours = hoursOf(usage)
  const minutes = minutesOf(usage)
  const refused = usage?.minutes.reduce((sum, each) => sum + each.refused, 0) ?? 0
  return (
    <div className="lane-history">
      <Bars counts={hours} most={Math.max(...hours, ...hoursOf(other))} what="7 days, by the hour" />
      <Bars
        counts={minutes}
        most={Math.max(...minutes, ...minutesOf(other))}
        what="Last hour, by the minute"
      />
      <p className="small quiet">
        {usage ? <Addresses addresses={usage.addresses} /> : 'Reading its history …'}
      </p>
      {refused > 0 && (
        <p className="small lane-refused">
          {refused.toLocaleString('en')} {refused === 1 ? 'request' : 'requests'} refused in the last hour
        </p>
      )}
    </div>
  )
}

const hoursOf = (usage: ClientUsage | undefined): number[] =>
  usage ? usage.hours.slice(-HOURS_SHOWN).map(({ tokens }) => tokens) : [0]

const minutesOf = (usage: ClientUsage | undefined): number[] =>
  usage ? usage.minutes.map(({ tokens }) => tokens) : [0]

function Bars({ counts, most, what }: { counts: number[]; most: number; what: string }) {
  const sum = counts.reduce((total, count) => total + count, 0)
  return (
    <figure className="lane-bars">
      <svg
        viewBox={`0 0 ${counts.length} ${BARS_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${what}: ${sum.toLocaleString('en')} ${sum === 1 ? 'token' : 'tokens'}`}
      >
        <path className="usage-tokens" d={barsOf(counts, most)} />
      </svg>
      <figcaption>
        <span>{what}</span> <span>{sum.toLocaleString('en')}</span>
      </figcaption>
    </figure>
  )
}

function Addresses({ addresses }: Pick<ClientUsage, 'addresses'>) {
  const since_ms = useNow().getTime() - 7 * DAY_MS
  const recent = addresses.filter(({ lastSeenAt }) => Date.parse(lastSeenAt) > since_ms)
  const [first, ...others] = recent
  if (!first) return 'No token in 7 days'
  if (others.length === 0) {
    return (
      <>
        Only from <code>{first.address}</code>
      </>
    )
  }
  return recent.length < ADDRESSES_MOST
    ? `From ${recent.length} addresses`
    : `From ${ADDRESSES_MOST} addresses or more`
}
