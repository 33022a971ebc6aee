import type { ReactNode } from 'react'
import type { ClientRotation, ClientUsage, OAuthClient } from '../api/contract.ts'
import { dateTime, near } from '../api/time.ts'
import { useUsage } from '../api/usage.ts'
import { useCompany } from '../shell/company.ts'
import { Ago, useTimed } from '../ui/Ago.tsx'
import { BARS_HEIGHT, barsOf } from './bars.ts'
import { AddressList } from './Rehearsal.tsx'
import { type Said, STATE_WORDS, sentenceOf } from './rotation-words.ts'
import { type Axis, axisOf, HOUR_MS } from './timeline-axis.ts'
import './usage.css'

const HISTORY_MS = 10_000

export interface TimelineProps {
  old: OAuthClient
  replacement: OAuthClient
  rotation: ClientRotation
}

/** Both clients on one axis, as it happens: when each got tokens, when the old one is expected next, and from where. */
export function Timeline({ old, replacement, rotation }: TimelineProps) {
  const { vendorId } = useCompany()
  const before = useUsage(vendorId, old.clientId, HISTORY_MS).data
  const after = useUsage(vendorId, replacement.clientId, HISTORY_MS).data
  const minute = useTimed((now) => now.toISOString().slice(0, 16))
  const axis = axisOf(rotation, new Date(`${minute}Z`))
  const most = Math.max(...[before, after].flatMap((usage) => usage?.hours.map(busiest) ?? []))
  const words = STATE_WORDS[rotation.state]
  return (
    <div className="timeline">
      <svg className="timeline-days" aria-hidden="true">
        {axis.days.map(({ at_ms, name, monday }) => (
          <text key={at_ms} className={monday ? '' : 'day-minor'} x={x(axis, at_ms)} y="12">
            {name}
          </text>
        ))}
        <text className="timeline-now" x={x(axis, axis.now.getTime())} y="30" textAnchor="middle">
          now
        </text>
      </svg>
      <Lane place="Replacement" client={replacement} said={words.replacement}>
        <Hours axis={axis} usage={after} most={most} />
      </Lane>
      <Lane place="Old" client={old} said={words.old}>
        <Hours axis={axis} usage={before} most={most} awaited={old.status === 'Active' && rotation} />
      </Lane>
      <AddressList
        rotation={rotation}
        track={({ lastUsedAt }) => (
          <svg className="track" aria-hidden="true">
            <Grid axis={axis} />
            <circle cx={x(axis, Date.parse(lastUsedAt))} cy="50%" r="4" />
          </svg>
        )}
      />
      {rotation.evidenceSince && (
        <p className="small quiet">
          Judged by the uses of the old client since {dateTime(new Date(rotation.evidenceSince))}. Several
          machines behind one address count as one, so check those yourself.
        </p>
      )}
      <p className="off-screen" role="status">
        {rotation.state === 'safe' ? sentenceOf(rotation, axis.now) : ''}
      </p>
    </div>
  )
}

const x = (axis: Axis, at_ms: number): string => `${(axis.share(at_ms) * 100).toFixed(2)}%`

const busiest = ({ tokens, refused }: ClientUsage['hours'][number]): number => Math.max(tokens, refused)

/** Where each day begins, and where now is. */
const Grid = ({ axis }: { axis: Axis }) =>
  [...axis.days.map(({ at_ms }) => at_ms), axis.now.getTime()].map((at_ms, index, { length }) => (
    <line
      key={at_ms}
      className={index === length - 1 ? 'timeline-now' : 'timeline-day'}
      {...{ x1: x(axis, at_ms), x2: x(axis, at_ms), y1: '0', y2: '100%' }}
    />
  ))

interface LaneProps {
  place: string
  client: OAuthClient
  said: Said | undefined
  children: ReactNode
}

const Lane = ({ place, client, said = { tone: 'idle', said: client.status }, children }: LaneProps) => (
  <section className={`lane tone-${said.tone}`} aria-label={`${place}: ${client.name}`}>
    <p className="lane-head">
      <span className="small quiet">{place}</span>
      <bdi className="lane-name">{client.name}</bdi>
      <span className="lane-said">
        <span className="watch-dot" aria-hidden="true" />
        {said.said}
      </span>
    </p>
    {children}
    <p className="small quiet">
      Last token: {client.lastUsedAt ? <Ago at={client.lastUsedAt} /> : 'none yet'}.{' '}
      {client.tokensIssued24h.toLocaleString('en')} in 24 hours.
    </p>
  </section>
)

interface HoursProps {
  axis: Axis
  /** Undefined while it loads. */
  usage: ClientUsage | undefined
  /** In the busiest hour of both clients. */
  most: number
  /** When the client is expected again. */
  awaited?: ClientRotation | false
}

/** Tokens and refusals by the hour. For the old client, also its expected next use, and how long to wait for it. */
function Hours({ axis, usage, most, awaited }: HoursProps) {
  const { now } = axis
  const hours = usage?.hours ?? []
  const counted = (of: 'tokens' | 'refused') => {
    const counts = hours.map((each) => each[of])
    const sum = counts.reduce((all, count) => all + count, 0)
    return { path: barsOf(counts, most), said: sum > 0 && `${sum.toLocaleString('en')} ${of}` }
  }
  const { lastUsedAt, expectedNextUseAt, safeFrom } = awaited || {}
  const expected_ms = Date.parse(expectedNextUseAt ?? '')
  const expected =
    expected_ms && `${expected_ms < now.getTime() ? 'was ' : ''}expected ${near(new Date(expected_ms), now)}`
  const wait = safeFrom && `wait until ${near(new Date(safeFrom), now)}`
  const [tokens, refused] = [counted('tokens'), counted('refused')]
  const said = [tokens.said || 'No tokens', refused.said, expected, wait].filter(Boolean).join(', ')
  const end = axis.share(expected_ms) > 0.5
  return (
    <svg className="track" role="img" aria-label={`14 days by the hour: ${said}`}>
      <Grid axis={axis} />
      <svg
        aria-hidden="true"
        width={x(axis, axis.from_ms + hours.length * HOUR_MS)}
        viewBox={`0 0 ${hours.length} ${BARS_HEIGHT}`}
        preserveAspectRatio="none"
      >
        <path className="usage-tokens" d={tokens.path} />
        <path className="usage-refused" d={refused.path} />
      </svg>
      {lastUsedAt && safeFrom && (
        <line
          className="track-wait"
          {...{
            x1: x(axis, Date.parse(lastUsedAt)),
            x2: x(axis, Date.parse(safeFrom)),
            y1: '100%',
            y2: '100%',
          }}
        />
      )}
      {expected && (
        <>
          <circle className="track-expected" cx={x(axis, expected_ms)} cy="60%" r="5" />
          <text x={x(axis, expected_ms)} dx={end ? 6 : -6} y="14" textAnchor={end ? 'end' : 'start'}>
            {expected}
          </text>
        </>
      )}
    </svg>
  )
}
