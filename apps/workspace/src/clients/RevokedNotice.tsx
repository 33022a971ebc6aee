import { useLocation } from 'wouter'
import { useRequests } from '../api/clients.ts'
import { SCREENS, useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { clock, day } from '../api/time.ts'
import { Time } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { Notice } from '../ui/Notice.tsx'
import { say } from '../ui/say.tsx'
import { isGranted } from './Requests.tsx'

/** Who revoked the client, and what its requests met since. */
export function RevokedNotice({ client, revokedAt }: { client: OAuthClient; revokedAt: string }) {
  const { to } = useCompany()
  const [, navigate] = useLocation()
  return (
    <Notice
      tone={client.failing ? 'bad' : 'info'}
      title={client.failing ? 'This client is revoked, and still asks' : 'This client is revoked'}
      actions={
        client.replacedBy && (
          <Button onClick={() => navigate(`${to(SCREENS.clients)}/${client.clientId}/rotate`)}>
            Show the rotation
          </Button>
        )
      }
    >
      <p>
        {say`Revoked ${<Time at={revokedAt} format={precise} inSentence />} by ${client.revokedBy?.name}.`}
      </p>
      <p>
        <SinceRevoke clientId={client.clientId} revokedAt={revokedAt} />
      </p>
    </Notice>
  )
}

const precise = (at: Date): string => `${day(at)}, ${clock(at)}`

/** Someone who has just revoked it waits for what happens. */
const WATCH_MS = 5_000

/** The log keeps this many requests. */
const LOGGED_MAX = 200

/** What the log of requests has since the revoke. A request that was under way may have been accepted. */
function SinceRevoke({ clientId, revokedAt }: { clientId: string; revokedAt: string }) {
  const { data, isError } = useRequests(clientId, WATCH_MS)
  if (isError || !data) return <>Requests since: –.</>
  const requests = data.requests.filter(({ at }) => at > revokedAt)
  const accepted = requests.filter(isGranted)
  const refusedCount = requests.length - accepted.length
  const oldest = data.requests.length >= LOGGED_MAX ? data.requests.at(-1)?.at : undefined
  const begin = oldest !== undefined && oldest > revokedAt ? oldest : undefined
  return (
    <>
      {accepted.length === 0 ? 'Refused everywhere since' : 'Requests since'}{' '}
      <Time at={begin ?? revokedAt} format={precise} inSentence />: {refusedCount}{' '}
      {refusedCount === 1 ? 'request' : 'requests'} refused, {accepted.length} accepted
      {begin ? ', as far as the log goes back.' : '.'}
      {accepted[0] &&
        say` The last was accepted ${<Time at={accepted[0].at} format={precise} inSentence />}.`}{' '}
      <span className="quiet">The log keeps requests for 14 days.</span>
    </>
  )
}
