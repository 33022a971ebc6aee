import type { OAuthClient } from '../api/contract.ts'
import { useTimed } from '../ui/now.ts'
import { StatusText } from '../ui/StatusText.tsx'
import { expiresSoon, hasExpired } from './expiry.ts'

/** Whether an Active client has expired, so that it can get no tokens, or does so within 30 days. */
export const useExpiry = (client: OAuthClient): 'expired' | 'soon' | undefined =>
  useTimed((now) => {
    if (client.status === 'Revoked' || !expiresSoon(client, now)) return undefined
    return hasExpired(client, now) ? 'expired' : 'soon'
  })

export const Status = ({ client }: { client: OAuthClient }) =>
  useExpiry(client) === 'expired' ? (
    <StatusText tone="bad">Expired</StatusText>
  ) : (
    <StatusText tone={client.status === 'Active' ? 'good' : 'idle'}>{client.status}</StatusText>
  )
