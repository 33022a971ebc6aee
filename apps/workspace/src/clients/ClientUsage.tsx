import { useUsage } from '../api/clients.ts'
import type { OAuthClient, ClientUsage as Usage } from '../api/contract.ts'
import { day } from '../api/time.ts'
import { Ago, Time } from '../ui/Ago.tsx'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import { BARS_HEIGHT } from './bars.ts'
import { HourBars, mostInAnHour } from './HourBars.tsx'
import { UnusedScopes } from './UnusedScopes.tsx'

/** Tokens and refusals of the last 14 days, their addresses, and the unused scopes. */
export function ClientUsage({ client }: { client: OAuthClient }) {
  const query = useUsage(client.clientId)
  return (
    <section className="section" aria-labelledby="usage-title">
      <h2 id="usage-title">The last 14 days</h2>
      <Loaded query={query} skeleton={<Skeleton lines={5} />}>
        {(usage) => (
          <>
            <HourlyTokens hours={usage.hours} />
            {usage.addresses.length > 0 && <Addresses addresses={usage.addresses} />}
            <UnusedScopes client={client} usage={usage} />
          </>
        )}
      </Loaded>
    </section>
  )
}

const LEGEND = 'flex flex-wrap justify-between gap-x-5 gap-y-1 text-[13px] text-ink-3'
const KEY = 'before:me-1.5 before:inline-block before:size-2.5 before:forced-color-adjust-none'

function HourlyTokens({ hours }: Pick<Usage, 'hours'>) {
  const tokens = hours.reduce((sum, each) => sum + each.tokens, 0)
  const refused = hours.reduce((sum, each) => sum + each.refused, 0)
  const busiest = hours.reduce((most, each) => (each.tokens > most.tokens ? each : most), {
    hour: '',
    tokens: 0,
  })
  const said = `${tokens === 0 ? 'No' : tokens.toLocaleString('en')} ${plural(tokens, 'token')} issued, ${refused === 0 ? 'no' : refused.toLocaleString('en')} ${plural(refused, 'request')} refused.`
  const first = hours[0]
  return (
    <>
      <p>
        {said}
        {tokens > 0 && (
          <>
            {' '}
            Busiest hour: <Time at={busiest.hour} />, {busiest.tokens.toLocaleString('en')}{' '}
            {plural(busiest.tokens, 'token')}.
          </>
        )}
      </p>
      {tokens + refused > 0 && first && (
        <figure className="grid gap-2">
          <svg
            className="h-24 w-full border-b border-line-strong"
            viewBox={`0 0 ${hours.length} ${BARS_HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`Tokens and refused requests per hour. ${said}`}
          >
            <HourBars hours={hours} most={mostInAnHour(hours)} />
          </svg>
          <figcaption className={LEGEND}>
            <span>
              <Time at={first.hour} format={day} />
            </span>
            <span className={LEGEND}>
              <span className={`${KEY} before:bg-bar`}>Tokens per hour</span>
              {refused > 0 && <span className={`${KEY} before:bg-bad`}>Refused</span>}
            </span>
            <span>now</span>
          </figcaption>
        </figure>
      )}
    </>
  )
}

function Addresses({ addresses }: Pick<Usage, 'addresses'>) {
  return (
    <table className="table max-w-[640px] max-phone:[&_:is(th,td)]:pe-3">
      <caption className="py-2 text-start text-ink-2">Where token requests came from</caption>
      <thead>
        <tr>
          <th scope="col">Address</th>
          <th scope="col" className="number">
            Tokens
          </th>
          <th scope="col">Last seen</th>
        </tr>
      </thead>
      <tbody>
        {addresses.map(({ address, tokens, lastSeenAt }) => (
          <tr key={address}>
            <th scope="row" className="wrap">
              <code>{address}</code>
            </th>
            <td className="number">{tokens.toLocaleString('en')}</td>
            <td>
              <Ago at={lastSeenAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const plural = (count: number, what: string): string => (count === 1 ? what : `${what}s`)
