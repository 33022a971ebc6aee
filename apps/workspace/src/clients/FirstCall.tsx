import { useEffect } from 'react'
import { useClient, useRequests } from '../api/clients.ts'
import type { OAuthClient } from '../api/contract.ts'
import { clock } from '../api/time.ts'
import { Attempts } from './Attempts.tsx'
import { credentialName } from './credential.tsx'
import { isGranted } from './Requests.tsx'

const WATCH_MS = 2_000

export interface FirstCallProps {
  client: OAuthClient
  /** Called at the first token. Must not change from one rendering to the next. */
  onToken: () => void
}

/** What the service has seen of a new client, as it happens: a token, the call that it is for, and refused requests. */
export function FirstCall({ client, onToken }: FirstCallProps) {
  // The list of clients learns of it too.
  const tokenAt = useClient(client.clientId, WATCH_MS).data?.lastUsedAt
  const requests = useRequests(client.clientId, WATCH_MS).data?.requests ?? []
  const call = requests.find((request) => isGranted(request) && request.service === 'api')
  const used = Boolean(tokenAt)
  useEffect(() => {
    if (used) onToken()
  }, [used, onToken])
  return (
    <div className="grid gap-1.5 border-y border-line py-3">
      <p
        className={`flex items-center gap-2.5 ${tokenAt ? 'tone-good font-semibold text-good' : ''}`}
        role="status"
      >
        <span className="watch-dot" aria-hidden="true" />
        {tokenAt
          ? `Token issued at ${clock(new Date(tokenAt))}: the id and ${credentialName(client)} work.`
          : 'Waiting for the first token request: run the curl command and see it arrive here.'}
      </p>
      {tokenAt && (
        <p className="small quiet" role="status">
          {call ? `Call granted at ${clock(new Date(call.at))}.` : waitingWords(client)}
        </p>
      )}
      <Attempts client={client} refresh_ms={WATCH_MS} />
    </div>
  )
}

const waitingWords = ({ scopes }: OAuthClient): string =>
  scopes.some((scope) => scope.startsWith('analytics:'))
    ? 'Waiting for the first call with a token.'
    : 'No route of this API needs its scopes yet.'
