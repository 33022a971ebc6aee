import { useEffect } from 'react'
import type { OAuthClient } from '../api/contract.ts'
import { clock } from '../api/time.ts'
import { useRequests } from '../api/usage.ts'
import { Attempts, TOKEN_ROUTE } from './Attempts.tsx'
import { credentialName } from './credential.tsx'
import { isGranted } from './Requests.tsx'

const WATCH_MS = 2_000

export interface FirstCallProps {
  vendorId: string
  client: OAuthClient
  /** Called at the first token. Must not change from one rendering to the next. */
  onToken: () => void
}

/** What the service has seen of a new client, as it happens: a token, the call that it is for, and refused requests. */
export function FirstCall({ vendorId, client, onToken }: FirstCallProps) {
  const requests = useRequests(vendorId, client.clientId, WATCH_MS).data?.requests ?? []
  const granted = requests.filter(isGranted)
  const token = granted.find(({ route }) => route === TOKEN_ROUTE)
  const call = granted.find(({ service }) => service === 'api')
  const used = token !== undefined
  useEffect(() => {
    if (used) onToken()
  }, [used, onToken])
  return (
    <div className={token ? 'watch watch-seen' : 'watch'}>
      <p className="watch-state" role="status">
        <span className="watch-dot" aria-hidden="true" />
        {token
          ? `Token issued at ${clock(new Date(token.at))}: the id and ${credentialName(client)} work.`
          : 'Waiting for the first token request: run the curl command and see it arrive here.'}
      </p>
      {token && (
        <p className="small quiet" role="status">
          {call ? `Call granted at ${clock(new Date(call.at))}.` : waitingWords(client)}
        </p>
      )}
      <Attempts vendorId={vendorId} client={client} refresh_ms={WATCH_MS} />
    </div>
  )
}

const waitingWords = ({ scopes }: OAuthClient): string =>
  scopes.some((scope) => scope.startsWith('analytics:'))
    ? 'Waiting for the first call with a token.'
    : 'No route of this API needs its scopes yet.'
