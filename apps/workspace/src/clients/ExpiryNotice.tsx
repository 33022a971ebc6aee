import type { OAuthClient } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { Moment } from '../ui/Moment.tsx'
import { Notice } from '../ui/Notice.tsx'
import { say } from '../ui/say.ts'
import { Time } from '../ui/Time.tsx'
import { useExpiry } from './Status.tsx'

/** Says that a client expires soon or has expired. */
export function ExpiryNotice({ client }: { client: OAuthClient }) {
  const expiry = useExpiry(client)
  if (!expiry || client.expiresAt === null) return null
  return expiry === 'expired' ? (
    <Notice tone="warn" title="This client has expired">
      It expired on <Moment at={client.expiresAt} /> and can get no tokens. If a system still needs access,
      deploy a replacement. Then revoke this client.
    </Notice>
  ) : (
    <Notice tone="warn" title={say`This client expires ${<Ago at={client.expiresAt} />}`}>
      From <Time at={client.expiresAt} />, its token requests are refused. The date cannot be changed: deploy
      a replacement before then.
    </Notice>
  )
}
