import { useDailyAnalytics } from '../api/analytics.ts'
import { useClient } from '../api/clients.ts'
import type { OAuthClient } from '../api/contract.ts'
import { clock } from '../api/time.ts'
import { Attempts } from './Attempts.tsx'
import { credentialName } from './credential.tsx'

const WATCH_MS = 2_000

/**
 * What the service has seen of a new client, as it happens: a token, refused requests, and an event that was counted.
 * The service keeps no record of successful reads, and none of which client reported an event, so neither is claimed.
 */
export function FirstCall({ vendorId, client }: { vendorId: string; client: OAuthClient }) {
  const tokenAt = useClient(vendorId, client.clientId, WATCH_MS).data?.lastUsedAt
  return (
    <div className={tokenAt ? 'watch watch-seen' : 'watch'}>
      <p className="watch-state" role="status">
        <span className="watch-dot" aria-hidden="true" />
        {tokenAt
          ? `Token issued at ${clock(new Date(tokenAt))}: the id and ${credentialName(client)} work.`
          : 'Waiting for the first token request: run the curl command and see it arrive here.'}
      </p>
      {tokenAt && <Calls vendorId={vendorId} client={client} />}
      <Attempts vendorId={vendorId} client={client} refresh_ms={WATCH_MS} />
    </div>
  )
}

/** What there is to see of the calls that the token is for. */
function Calls({ vendorId, client: { scopes, createdAt } }: { vendorId: string; client: OAuthClient }) {
  const writes = scopes.includes('analytics:write')
  const { data } = useDailyAnalytics(vendorId, writes ? undefined : null, WATCH_MS)
  if (writes) {
    const newest = data?.dataThrough
    return (
      <p className="small quiet" role="status">
        {newest && newest > createdAt
          ? `The newest event of your company, from any client, is from ${clock(new Date(newest))}.`
          : 'No event from after this client was created has been counted yet.'}
      </p>
    )
  }
  return (
    <p className="small quiet">
      {scopes.includes('analytics:read')
        ? 'If a read is refused, it is listed here. Successful reads are not recorded.'
        : 'No route of this API needs its scopes yet.'}
    </p>
  )
}
