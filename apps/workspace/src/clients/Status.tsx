import type { OAuthClient } from '../api/contract.ts'
import { useTimed } from '../ui/Ago.tsx'
import { StatusText } from '../ui/StatusText.tsx'
import { hasExpired } from './expiry.ts'

type Dated = Pick<OAuthClient, 'status' | 'expiresAt'>

/** Whether it can get tokens: an Active client cannot once it has expired. */
export const useExpired = (client: Dated): boolean =>
  useTimed((now) => client.status === 'Active' && hasExpired(client, now))

export function Status({ client }: { client: Dated }) {
  if (useExpired(client)) return <StatusText tone="bad">Expired</StatusText>
  return <StatusText tone={client.status === 'Active' ? 'good' : 'idle'}>{client.status}</StatusText>
}
