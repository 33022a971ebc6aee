import type { OAuthClient } from '../api/contract.ts'
import { Ago, Moment, Time, useTimed } from '../ui/Ago.tsx'
import { StatusText } from '../ui/StatusText.tsx'
import { expiresSoon, hasExpired } from './expiry.ts'

type Dated = Pick<OAuthClient, 'status' | 'expiresAt'>

/** Whether it can get tokens: an Active client cannot once it has expired. */
export const useExpired = (client: Dated): boolean =>
  useTimed((now) => client.status === 'Active' && hasExpired(client, now))

export function Status({ client }: { client: Dated }) {
  if (useExpired(client)) return <StatusText tone="bad">Expired</StatusText>
  return <StatusText tone={client.status === 'Active' ? 'good' : 'idle'}>{client.status}</StatusText>
}

/** "Never", "31 Jan 2027". */
export const Expires = ({ client: { expiresAt } }: { client: Dated }) =>
  expiresAt ? <Time at={expiresAt} format="day" /> : <span className="quiet">Never</span>

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

type Used = Pick<OAuthClient, 'lastUsedAt' | 'usesMissingBefore'>

export const LastUsed = ({ client }: { client: Used }) =>
  client.lastUsedAt ? <Ago at={client.lastUsedAt} /> : <span className="quiet">{unusedWords(client)}</span>

/** What is known of a client that has no recorded use. */
export const unusedWords = ({ usesMissingBefore }: Pick<OAuthClient, 'usesMissingBefore'>) =>
  usesMissingBefore ? 'No known use' : 'Never used'

/** @param at null: no use is recorded; undefined: it cannot be read. */
export function ScopeUse({ client, at }: { client: Used; at: string | null | undefined }) {
  if (at === undefined) return 'Last used: –'
  if (at === null) return unusedWords(client)
  return (
    <>
      Last used <Ago at={at} />
    </>
  )
}

/** What the time of its last use cannot tell. */
export const MissingUses = ({ client: { usesMissingBefore } }: { client: OAuthClient }) =>
  usesMissingBefore && (
    <span className="quiet">
      {' '}
      Uses up to <Moment at={usesMissingBefore} /> may be missing.
    </span>
  )
