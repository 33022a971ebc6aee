import { useLocation } from 'wouter'
import { useActiveClients } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import { Button } from '../ui/Button.tsx'
import { DocsLink, ScopeName } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Loaded } from '../ui/Loaded.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { say } from '../ui/say.ts'
import { hasExpired } from './expiry.ts'
import { UseIt } from './UseIt.tsx'

/** What there is before the first event: how to report one, with a client that may. */
export function FirstEvent() {
  const { to, mayManage } = useCompany()
  const [, navigate] = useLocation()
  return (
    <section className="grid justify-items-start gap-4" aria-labelledby="first-event-title">
      <h2 id="first-event-title">Report your first event</h2>
      <p className="max-w-prose text-pretty">
        Nothing has been reported yet. A client with <ScopeName scope="analytics:write" /> reports
        impressions, clicks, orders and boost spend. They appear here within a minute.{' '}
        <DocsLink to={DOCS.events}>How to report events</DocsLink>
      </p>
      <Loaded query={useActiveClients()} skeleton={<Skeleton lines={3} />}>
        {({ pages }) => {
          const writer = pages
            .flatMap(({ clients }) => clients)
            .find((client) => client.scopes.includes('analytics:write') && !hasExpired(client, new Date()))
          return writer ? (
            <UseIt
              client={{ ...writer, scopes: ['analytics:write'] }}
              title={say`Report with ${writer.name}`}
            />
          ) : (
            mayManage && (
              <Button variant="primary" onClick={() => navigate(`${to('clients')}?new`)}>
                Create a client
              </Button>
            )
          )
        }}
      </Loaded>
    </section>
  )
}
