import { ADDRESSES_PER_DAY_MAX } from '#shared/rules/clients.ts'
import { useUsage } from '../api/clients.ts'
import type { OAuthClient, ClientUsage as Usage } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { Moment } from '../ui/Moment.tsx'
import { Section } from '../ui/Section.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { say } from '../ui/say.ts'
import { Time } from '../ui/Time.tsx'
import { countWords, HourChart, mostInAnHour } from './HourChart.tsx'
import { MissingUses } from './LastUsed.tsx'

/** Tokens and refusals of the last 14 days, and the addresses that got tokens. */
export function UsageSection({ client }: { client: OAuthClient }) {
  const query = useUsage(client.clientId)
  return (
    <Section id="usage-title" title="The last 14 days">
      <Loaded query={query} skeleton={<Skeleton lines={5} />}>
        {(usage) => (
          <>
            <p>
              {countWords(usage.hours)}
              <MissingUses client={client} />
            </p>
            {mostInAnHour(usage.hours) > 0 && <HourChart hours={usage.hours} />}
            {usage.addresses.length > 0 && <Addresses {...usage} />}
          </>
        )}
      </Loaded>
    </Section>
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
