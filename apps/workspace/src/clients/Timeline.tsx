import { useUsage } from '../api/clients.ts'
import type { ClientRotation, ClientUsage, OAuthClient } from '../api/contract.ts'
import { near } from '../api/time.ts'
import { Ago, Time, useTimed } from '../ui/Ago.tsx'
import { BARS_HEIGHT } from './bars.ts'
import { HourBars, mostInAnHour } from './HourBars.tsx'
import { AddressList } from './Rehearsal.tsx'
import { type Said, STATE_WORDS, sentenceOf } from './rotation-words.ts'
import { type Axis, axisOf, HOUR_MS } from './timeline-axis.ts'

const HISTORY_MS = 10_000

type Hour = ClientUsage['hours'][number]

export interface TimelineProps {
  old: OAuthClient
  replacement: OAuthClient
  rotation: ClientRotation
}

/** Both clients on one axis, as it happens: when each got tokens, when the old one is expected next, and from where. */
export function Timeline({ old, replacement, rotation }: TimelineProps) {
  const before = useUsage(old.clientId, HISTORY_MS).data
  const after = useUsage(replacement.clientId, HISTORY_MS).data
  const minute = useTimed((now) => now.toISOString().slice(0, 16))
  const axis = axisOf(rotation, new Date(`${minute}Z`))
  const most = mostInAnHour([before, after].flatMap((usage) => usage?.hours ?? []))
  const words = STATE_WORDS[rotation.state]
  const lane = { axis, most }
  const awaited = old.status === 'Active' ? rotation : undefined
  return (
    <div className="grid w-full gap-5 border border-line bg-sheet p-4 [&_line]:stroke-line [&_text]:fill-ink-3 [&_text]:text-[12px]">
      <svg className="-mb-4 h-[34px] w-full overflow-visible" aria-hidden="true">
        {axis.days.map(({ at_ms, name, monday }) => (
          <text key={at_ms} className={monday ? '' : 'max-[621px]:hidden'} x={axis.x(at_ms)} y="12">
            {name}
          </text>
        ))}
        <text x={axis.x(axis.now.getTime())} y="30" textAnchor="middle">
          now
        </text>
      </svg>
      <Lane {...lane} place="Replacement" client={replacement} usage={after} said={words.replacement} />
      <Lane {...lane} place="Old" client={old} usage={before} said={words.old} awaited={awaited} />
      <AddressList
        rotation={rotation}
        track={({ lastUsedAt }) => (
          <svg className="block h-3.5 w-full border-b border-line-strong" aria-hidden="true">
            <Grid axis={axis} />
            <circle className="fill-ink-2" cx={axis.x(Date.parse(lastUsedAt))} cy="50%" r="4" />
          </svg>
        )}
      />
      {rotation.evidenceSince && (
        <p className="small quiet">
          Judged by the uses of the old client since <Time at={rotation.evidenceSince} />. Several machines
          behind one address count as one, so check those yourself.
        </p>
      )}
      <p className="off-screen" role="status">
        {rotation.state === 'safe' ? sentenceOf(rotation, axis.now) : ''}
      </p>
    </div>
  )
}

/** Where each day begins, and where now is. */
const Grid = ({ axis: { days, now, x } }: { axis: Axis }) => (
  <>
    {days.map(({ at_ms }) => (
      <line key={at_ms} x1={x(at_ms)} x2={x(at_ms)} y2="100%" />
    ))}
    <line className="stroke-ink!" x1={x(now.getTime())} x2={x(now.getTime())} y2="100%" />
  </>
)

interface LaneProps {
  place: string
  client: OAuthClient
  /** Undefined while it loads. */
  usage: ClientUsage | undefined
  said: Said | undefined
  axis: Axis
  /** In the busiest hour of both clients. */
  most: number
  /** When the client is expected again. */
  awaited?: ClientRotation | undefined
}

function Lane({ place, client, usage, axis, most, awaited, ...words }: LaneProps) {
  const { tone, said } = words.said ?? { tone: 'idle', said: client.status }
  const hours = usage?.hours ?? []
  return (
    <section className={`grid gap-1 tone-${tone}`} aria-label={`${place}: ${client.name}`}>
      <p className="flex flex-wrap items-baseline gap-x-2.5 py-0.5">
        <span className="small quiet">{place}</span>
        <bdi className="strong">{client.name}</bdi>
        <span className="ms-auto flex items-center gap-2 font-[580] text-(--tone,inherit)">
          <span className="watch-dot" aria-hidden="true" />
          {said}
        </span>
      </p>
      <svg
        className="block h-16 w-full border-b border-line-strong [&_.usage-refused]:stroke-bad [&_path]:stroke-bar [&_path]:[vector-effect:non-scaling-stroke] [&_text]:[paint-order:stroke] [&_text]:stroke-sheet [&_text]:stroke-[4px]"
        aria-hidden="true"
      >
        <Grid axis={axis} />
        <svg
          aria-hidden="true"
          width={axis.x(axis.from_ms + hours.length * HOUR_MS)}
          viewBox={`0 0 ${hours.length} ${BARS_HEIGHT}`}
          preserveAspectRatio="none"
        >
          <HourBars hours={hours} most={most} />
        </svg>
        {awaited && <Awaited axis={axis} rotation={awaited} />}
      </svg>
      <p className="small quiet">
        Last token: {client.lastUsedAt ? <Ago at={client.lastUsedAt} /> : 'none yet'}.{' '}
        {usage ? counted(hours) : 'Reading its history …'} {awaited && awaitedWords(awaited, axis.now)}
      </p>
    </section>
  )
}

function counted(hours: readonly Hour[]): string {
  const sum = (of: 'tokens' | 'refused') => hours.reduce((all, hour) => all + hour[of], 0)
  const [tokens, refused] = [sum('tokens'), sum('refused')]
  return `In 14 days: ${tokens.toLocaleString('en')} ${tokens === 1 ? 'token' : 'tokens'}${refused > 0 ? `, ${refused.toLocaleString('en')} refused` : ''}.`
}

const awaitedWords = ({ expectedNextUseAt, safeFrom }: ClientRotation, now: Date) =>
  expectedNextUseAt &&
  safeFrom &&
  `Expected again by ${near(new Date(expectedNextUseAt), now)}, and not safe before ${near(new Date(safeFrom), now)}.`

/** The expected next use of the old client, and the wait until it can be revoked. */
function Awaited({ axis: { now, x }, rotation }: { axis: Axis; rotation: ClientRotation }) {
  const { lastUsedAt, expectedNextUseAt, safeFrom } = rotation
  if (lastUsedAt === null || expectedNextUseAt === null || safeFrom === null) return null
  const expected = new Date(expectedNextUseAt)
  const at = x(expected.getTime())
  const side = parseFloat(at) < 50 ? ({ dx: -6 } as const) : ({ dx: 6, textAnchor: 'end' } as const)
  return (
    <>
      <line
        className="stroke-(--chart-before)! stroke-[10px]"
        x1={x(Date.parse(lastUsedAt))}
        x2={x(Date.parse(safeFrom))}
        y1="100%"
        y2="100%"
      />
      <circle className="track-expected fill-sheet stroke-(--chart-before) stroke-2" cx={at} cy="60%" r="5" />
      <text x={at} y="14" {...side}>
        {near(expected, now)}
      </text>
    </>
  )
}
