import { useLocation } from 'wouter'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Ago, Moment, Time, useTimed } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { Notice } from '../ui/Notice.tsx'
import { say } from '../ui/say.ts'
import { expiresSoon } from './expiry.ts'
import { useExpired } from './Status.tsx'

/** Says that a client expires soon or has expired. @param rotating on the screen that replaces it anyway. */
export function ExpiryNotice({ client, rotating = false }: { client: OAuthClient; rotating?: boolean }) {
  const { to, mayManage } = useCompany()
  const [, navigate] = useLocation()
  const expired = useExpired(client)
  const soon = useTimed((now) => client.status === 'Active' && expiresSoon(client, now))
  if (!soon || client.expiresAt === null) return null
  return (
    <Notice
      tone="warn"
      title={expired ? 'This client has expired' : say`This client expires ${<Ago at={client.expiresAt} />}`}
      actions={
        !rotating &&
        mayManage && (
          <Button onClick={() => navigate(to('rotation', client.clientId))}>Create a replacement</Button>
        )
      }
    >
      {expired ? (
        <>
          It expired on <Moment at={client.expiresAt} /> and can get no tokens. If a system still needs
          access, {rotating ? 'deploy' : 'create'} a replacement. Then revoke this client.
        </>
      ) : (
        <>
          From <Time at={client.expiresAt} />, its token requests are refused. The date cannot be changed.{' '}
          {rotating ? 'Finish the rotation before then.' : 'Create a replacement and deploy it before then.'}
        </>
      )}
    </Notice>
  )
}
