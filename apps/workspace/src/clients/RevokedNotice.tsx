import { useLocation } from 'wouter'
import { actorName } from '#shared/rules/actors.ts'
import { useRequests, useUsage } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Button } from '../ui/Button.tsx'
import { Notice } from '../ui/Notice.tsx'
import { say } from '../ui/say.ts'
import { Time } from '../ui/Time.tsx'
import { isGranted } from './Requests.tsx'

/** Who revoked the client, and what its requests met since. @param rotating on the screen of its rotation. */
export function RevokedNotice({ client, rotating = false }: { client: OAuthClient; rotating?: boolean }) {
  const { to } = useCompany()
  const [, navigate] = useLocation()
  const { revokedAt } = client
  if (revokedAt === null) return null
  return (
    <Notice
      tone={client.failing ? 'bad' : 'info'}
      title={client.failing ? 'This client is revoked, but still sends requests' : 'This client is revoked'}
      actions={
        client.replacedBy &&
        !rotating && (
          <Button onClick={() => navigate(to('rotation', client.clientId))}>Show the rotation</Button>
        )
      }
    >
      <p>{say`Revoked ${<Time at={revokedAt} format="precise" />} by ${client.revokedBy && actorName(client.revokedBy)}.`}</p>
      <p>
        <SinceRevoke clientId={client.clientId} revokedAt={revokedAt} />
      </p>
    </Notice>
  )
}

/** Someone who has just revoked it waits for what happens. */
const WATCH_MS = 5_000

/** What the log of requests has since the revoke. A request that was under way may have been accepted. */
function SinceRevoke({ clientId, revokedAt }: { clientId: string; revokedAt: string }) {
  const { data, isError } = useRequests(clientId, WATCH_MS)
  // The counts further down the page would otherwise be older than the requests.
  useUsage(clientId, WATCH_MS)
  if (isError) return <>Requests since then cannot be read right now.</>
  if (!data) return <>Requests since: –.</>
  const begin = data.since > revokedAt ? data.since : revokedAt
  const requests = data.requests.filter(({ at }) => at >= begin)
  const accepted = requests.filter(isGranted)
  return (
    <>
      {requests.length || 'No'} {requests.length === 1 ? 'request' : 'requests'} on record since{' '}
      <Time at={begin} format="precise" />
      {requests.length > 0 && `, ${accepted.length || 'none'} accepted`}
      {requests[0]?.address && say`, the last from ${<code>{requests[0].address}</code>}`}
      {begin > revokedAt ? '. Older ones may no longer be on record.' : '.'}
      {data.skipped > 0 && ` ${data.skipped} more could not be read.`}
      {accepted[0] && say` The last was accepted ${<Time at={accepted[0].at} format="precise" />}.`}
    </>
  )
}
