import type { OAuthClient } from '../api/contract.ts'
import { Ago, Time, useTimed } from '../ui/Ago.tsx'
import { expiresSoon } from './expiry.ts'
import { useExpired } from './Status.tsx'

type Dated = Pick<OAuthClient, 'status' | 'expiresAt'>

/** "Never", "31 Jan 2027". */
export const Expires = ({ client: { expiresAt } }: { client: Dated }) =>
  expiresAt ? <Time at={expiresAt} format="day" /> : <span className="text-muted">Never</span>

/** Marks a client that expires soon or has expired. */
export function ExpiryMark({ client }: { client: Dated }) {
  const expired = useExpired(client)
  const soon = useTimed((now) => client.status === 'Active' && expiresSoon(client, now))
  if (!soon || client.expiresAt === null) return null
  if (expired) return <span className="font-strong text-bad">Expired</span>
  return (
    <span className="font-strong text-warn">
      Expires <Ago at={client.expiresAt} />
    </span>
  )
}
