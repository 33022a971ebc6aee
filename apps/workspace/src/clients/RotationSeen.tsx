import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { ADDRESS_DAYS_KEPT, ADDRESSES_PER_DAY_MAX } from '#shared/rules/clients.ts'
import { hoursInWords } from '#shared/rules/hours-in-words.ts'
import { useUsage } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { ClientRotation, OAuthClient } from '../api/contract.ts'
import { Moment } from '../ui/Moment.tsx'
import { Section } from '../ui/Section.tsx'
import { say } from '../ui/say.ts'
import { Time } from '../ui/Time.tsx'
import { type Hour, HourChart, mostInAnHour } from './HourChart.tsx'
import { MissingUses, unusedWords } from './LastUsed.tsx'
import { Status } from './Status.tsx'

const HISTORY_MS = 10_000

export interface RotationSeenProps {
  old: OAuthClient
  replacement: OAuthClient | undefined
  /** undefined: not known right now. */
  rotation: ClientRotation | undefined
}

/** When both clients were used, on one scale, and from where. Nothing is concluded from it. */
export function RotationSeen({ old, replacement, rotation }: RotationSeenProps) {
  const before = useUsage(old.clientId, HISTORY_MS)
  const after = useUsage(replacement?.clientId ?? null, HISTORY_MS)
  const histories = [before, after].map(({ data, isError }) => (isError ? undefined : data?.hours))
  const most = mostInAnHour(histories.flatMap((hours) => hours ?? []))
  const seen = rotation?.old
  const refused = rotation?.refusedSinceRevoke
  const times = refused?.count === 1 ? 'once' : `${refused?.count} times`
  return (
    <Section id="seen-title" title={`Use of ${replacement ? 'both clients' : 'the client'}`}>
      <Side title={replacement ? 'Old' : 'Client'} client={old} hours={histories[0]} most={most}>
        {lastUse(old, seen)}
        {seen &&
          seen.longestQuietHours !== null &&
          say` Longest time between two uses since ${<Time at={rotation.seenSince} format="day" />}: ${hoursInWords(seen.longestQuietHours)}.`}
        {rotation?.usesMissingSince &&
          say` Uses since ${<Time at={rotation.usesMissingSince} format="weekdayTime" />} may be missing.`}
        {refused?.lastAt &&
          say` Refused at least ${times} in the last 24 hours because it is revoked, last on ${<Time at={refused.lastAt} format="weekdayTime" />}.`}
      </Side>
      {replacement && (
        <Side title="Replacement" client={replacement} hours={histories[1]} most={most}>
          {lastUse(replacement, rotation?.replacement)}
          {rotation?.replacement?.firstUsedAt &&
            say` First used on ${<Time at={rotation.replacement.firstUsedAt} format="weekdayTime" />}.`}
          {rotation && <MissingUses client={replacement} />}
        </Side>
      )}
      {rotation && <Addresses rotation={rotation} />}
    </Section>
  )
}

/** @param known undefined: not known right now. */
function lastUse(client: OAuthClient, known: { lastUsedAt: string | null } | null | undefined): ReactNode {
  if (!known) return 'Last used: –.'
  const { lastUsedAt } = known
  return lastUsedAt
    ? say`Last used on ${<Moment at={lastUsedAt} format="weekdayTime" />}.`
    : `${unusedWords(client)}.`
}

interface SideProps {
  title: string
  client: OAuthClient
  /** undefined: not known right now. */
  hours: readonly Hour[] | undefined
  /** In the busiest hour of both clients. */
  most: number
  children: ReactNode
}

function Side({ title, client, hours, most, children }: SideProps) {
  const { to } = useCompany()
  return (
    <section className="grid gap-2 not-first-of-type:mt-5" aria-label={`${title}: ${client.name}`}>
      <h3 className="flex flex-wrap items-center gap-x-3">
        <span>{title}</span>
        <Link className="touch" href={to('client', client.clientId)}>
          <bdi>{client.name}</bdi>
        </Link>
        <Status client={client} />
      </h3>
      <p>{children}</p>
      {hours ? <HourChart hours={hours} most={most} /> : <p className="text-muted">Tokens per hour: –</p>}
    </section>
  )
}

/** Each address with its last use of either client, those of the old client first. */
function Addresses({ rotation: { old, replacement } }: { rotation: ClientRotation }) {
  const of = (list: ClientRotation['old']['addresses'] | undefined) =>
    new Map(list?.map(({ address, lastUsedAt }) => [address, lastUsedAt]))
  const [before, after] = [of(old.addresses), of(replacement?.addresses)]
  const addresses = [...new Set([...before.keys(), ...after.keys()])]
  if (addresses.length === 0) return null
  return (
    <table className="table max-w-210">
      <caption className="py-2 text-start text-ink-2">
        The latest addresses that got tokens in the last {ADDRESS_DAYS_KEPT} days, counting at most{' '}
        {ADDRESSES_PER_DAY_MAX} a day (UTC), and when each last got one.
      </caption>
      <thead>
        <tr>
          <th scope="col">Address</th>
          <th scope="col">{replacement ? 'Old' : 'Last token'}</th>
          {replacement && <th scope="col">Replacement</th>}
        </tr>
      </thead>
      <tbody>
        {addresses.map((address) => (
          <tr key={address}>
            <th scope="row" className="wrap-anywhere min-w-[12ch]">
              <code>{address}</code>
            </th>
            <UsedAt at={before.get(address)} />
            {replacement && <UsedAt at={after.get(address)} />}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const UsedAt = ({ at }: { at: string | undefined }) => (
  <td>{at ? <Time at={at} format="weekdayTime" /> : <span className="text-muted">None</span>}</td>
)
