import type { OAuthClient } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { useExpiry } from './Status.tsx'

/** Marks a client that expires soon or has expired. */
export function ExpiryMark({ client }: { client: OAuthClient }) {
  const expiry = useExpiry(client)
  if (!expiry || client.expiresAt === null) return null
  if (expiry === 'expired') return <span className="font-strong text-bad">Expired</span>
  return (
    <span className="font-strong text-warn">
      Expires <Ago at={client.expiresAt} />
    </span>
  )
}
