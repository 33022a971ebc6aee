import { useLocation } from 'wouter'
import { ADDRESSES_PER_DAY_MAX } from '#shared/rules/clients.ts'
import { useUsage } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { OAuthClient, ClientUsage as Usage } from '../api/contract.ts'
import { Ago, Moment, Time } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { Section } from '../ui/Section.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { listed, say } from '../ui/say.ts'
import { credentialName } from './credential.ts'
import { HourChart, mostInAnHour } from './HourChart.tsx'
import { UNUSED_DAYS, unusedScopes } from './unused-scopes.ts'

/** Tokens and refusals of the last 14 days, their addresses, and the unused scopes. */
export function UsageSection({ client }: { client: OAuthClient }) {
  const query = useUsage(client.clientId)
  return (
    <Section id="usage-title" title="The last 14 days">
      <Loaded query={query} skeleton={<Skeleton lines={5} />}>
        {(usage) => (
          <>
            <HourlyTokens hours={usage.hours} />
            {usage.addresses.length > 0 && <Addresses {...usage} />}
            <UnusedScopes client={client} usage={usage} />
          </>
        )}
      </Loaded>
    </Section>
  )
}

function HourlyTokens({ hours }: Pick<Usage, 'hours'>) {
  const tokens = hours.reduce((sum, hour) => sum + hour.tokens, 0)
  const refused = hours.reduce((sum, hour) => sum + hour.refused, 0)
  const text = `${tokens === 0 ? 'No' : tokens.toLocaleString('en')} ${plural(tokens, 'token')} issued, ${refused === 0 ? 'no' : refused.toLocaleString('en')} ${plural(refused, 'request')} refused.`
  return (
    <>
      <p>{text}</p>
      {tokens + refused > 0 && (
        <HourChart
          hours={hours}
          most={mostInAnHour(hours)}
          label={`Tokens and refused requests per hour. ${text}`}
        />
      )}
    </>
  )
}

function Addresses({ addresses, addressesSince, addressesMissingBefore }: Usage) {
  return (
    <table className="table max-w-160">
      <caption className="py-2 text-start text-ink-2">
        {say`The latest addresses that got tokens since ${<Time at={addressesSince} />}, `}
        counting at most {ADDRESSES_PER_DAY_MAX} a day (UTC).
        {(addressesMissingBefore ?? '') > addressesSince &&
          say` Up to ${<Moment at={addressesMissingBefore ?? ''} />}, others may have got tokens too.`}
      </caption>
      <thead>
        <tr>
          <th scope="col">Address</th>
          <th scope="col" className="number">
            Tokens
          </th>
          <th scope="col">First seen</th>
          <th scope="col">Last seen</th>
        </tr>
      </thead>
      <tbody>
        {addresses.map(({ address, tokens, firstSeenAt, lastSeenAt }) => (
          <tr key={address}>
            <th scope="row" className="wrap-anywhere">
              <code>{address}</code>
            </th>
            <td className="number">{tokens.toLocaleString('en')}</td>
            <td>
              <Ago at={firstSeenAt} />
            </td>
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

/** What a replacement could do without. */
function UnusedScopes({ client, usage }: { client: OAuthClient; usage: Usage }) {
  const { to, mayManage } = useCompany()
  const [, navigate] = useLocation()
  const unused = unusedScopes(client, usage.scopes, new Date())
  if (unused.length === 0 || client.replacedBy !== null) return null
  const rotate = to('rotation', client.clientId)
  return (
    <Notice
      tone="info"
      title={`${unused.length === 1 ? 'One scope was' : `${unused.length} scopes were`} not used in ${UNUSED_DAYS} days`}
      actions={mayManage && <Button onClick={() => navigate(rotate)}>Make a narrower replacement</Button>}
    >
      {listed(unused.map((scope) => <code key={scope}>{scope}</code>))} {unused.length === 1 ? 'was' : 'were'}{' '}
      in no token. The less a client may do, the less a lost {credentialName(client)} costs.
    </Notice>
  )
}
