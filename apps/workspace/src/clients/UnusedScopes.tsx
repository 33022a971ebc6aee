import { useLocation } from 'wouter'
import { SCREENS, useCompany } from '../api/company.ts'
import type { ClientUsage, OAuthClient } from '../api/contract.ts'
import { Button } from '../ui/Button.tsx'
import { Notice } from '../ui/Notice.tsx'
import { credentialName } from './credential.tsx'
import { Scopes } from './Status.tsx'
import { UNUSED_DAYS, unusedScopes } from './unused-scopes.ts'

/** What a replacement could do without. */
export function UnusedScopes({ client, usage }: { client: OAuthClient; usage: ClientUsage }) {
  const { to } = useCompany()
  const [, navigate] = useLocation()
  const unused = unusedScopes(client, usage.scopes, new Date())
  if (unused.length === 0 || client.replacedBy !== null) return null
  const rest = client.scopes.filter((scope) => !unused.includes(scope))
  const rotate = `${to(SCREENS.clients)}/${client.clientId}/rotate?scopes=${rest.join(',')}`
  return (
    <Notice
      tone="info"
      title={`${unused.length === 1 ? 'One scope was' : `${unused.length} scopes were`} not used in ${UNUSED_DAYS} days`}
      actions={<Button onClick={() => navigate(rotate)}>Make a narrower replacement</Button>}
    >
      <Scopes scopes={unused} />
      <p>
        No token had {unused.length === 1 ? 'it' : 'them'}. The less a client may do, the less a lost{' '}
        {credentialName(client)} costs.
      </p>
    </Notice>
  )
}
