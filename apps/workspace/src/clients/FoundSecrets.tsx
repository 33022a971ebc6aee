import { type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { ADDRESS_DAYS_KEPT } from '#shared/rules/clients.ts'
import { useFoundClients, useUsage } from '../api/clients.ts'
import { SCREENS, useCompany } from '../api/company.ts'
import type { ClientUsage, OAuthClient } from '../api/contract.ts'
import { duration } from '../api/time.ts'
import { OwnerName } from '../shell/Page.tsx'
import { Ago, Moment } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Fact } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { listed, say } from '../ui/say.tsx'
import { RevokeClient } from './RevokeClient.tsx'
import { MissingUses } from './Status.tsx'

const SHOWN_MAX = 3

/** On every screen until the clients are revoked. The source is a stranger's text, so it is never a link. */
export function FoundSecrets() {
  const { to, mayManage } = useCompany()
  const clients = useFoundClients()
  const [first] = clients
  if (!first) return null
  const count = clients.length
  return (
    <div className="page mb-7 max-w-[1480px] [&_li]:mb-2">
      <Notice
        tone="bad"
        live
        title={count === 1 ? 'A client secret was found' : `${count} client secrets were found`}
      >
        <ul>
          {clients.slice(0, SHOWN_MAX).map((client) => (
            <FoundItem key={client.clientId} client={client} />
          ))}
          {count > SHOWN_MAX && (
            <li>
              <Link href={to(SCREENS.clients)}>{count - SHOWN_MAX} more in OAuth2 Clients</Link>
            </li>
          )}
        </ul>
        <p>
          {!mayManage ? (
            <>
              Ask <OwnerName /> or an admin to revoke {count === 1 ? 'it' : 'them'}.
            </>
          ) : (
            <>
              Revoke: what uses the client fails until it has a replacement. Replace first: nothing fails, and
              whoever has the secret can use it until you revoke.
            </>
          )}{' '}
          <DocsLink to={DOCS.leaked}>If a secret has leaked</DocsLink>
        </p>
      </Notice>
    </div>
  )
}

function FoundItem({ client }: { client: OAuthClient }) {
  const { to, mayManage } = useCompany()
  const [, navigate] = useLocation()
  const [revoking, setRevoking] = useState(false)
  const page = `${to(SCREENS.clients)}/${client.clientId}`
  return (
    <li className="flex flex-wrap items-center gap-x-5 gap-y-2">
      <div className="flex-[1_1_36ch]">
        <Link className="strong" href={page}>
          <bdi>{client.name}</bdi>
        </Link>
        , reported <Ago at={client.secretFoundAt ?? ''} inSentence />
        {client.secretFoundSource &&
          say` as found at ${<code className="wrap">{client.secretFoundSource}</code>}`}
        . <UseSince client={client} />
      </div>
      {mayManage && (
        <span className="flex flex-wrap gap-2">
          <Button variant="danger" className="wrap" onClick={() => setRevoking(true)}>
            Revoke <bdi>{client.name}</bdi>
          </Button>
          <Button className="wrap" onClick={() => navigate(`${page}/rotate`)}>
            Replace <bdi>{client.name}</bdi> first
          </Button>
        </span>
      )}
      {revoking && <RevokeClient client={client} onClose={() => setRevoking(false)} />}
    </li>
  )
}

/** Who used the client since its secret was reported, the newest addresses first. */
function UseSince({ client }: { client: OAuthClient }) {
  const { clientId, secretFoundAt: foundAt, lastUsedAt, usesMissingBefore } = client
  const { data, isError } = useUsage(clientId)
  if (foundAt === null) return null
  if (!data || isError) return <>Used since: –.</>
  const addresses = data.addresses
    .filter(({ lastSeenAt }) => lastSeenAt >= foundAt)
    .sort((a, b) => (a.firstSeenAt < b.firstSeenAt ? 1 : -1))
  const missing = (usesMissingBefore ?? '') > foundAt && <MissingUses client={client} />
  if (addresses.length === 0 && (lastUsedAt ?? '') < foundAt)
    return missing ? <>No use since is known.{missing}</> : <>Not used since.</>
  const { addressesMissingBefore } = data
  return (
    <>
      {addresses.length === 0
        ? say`Used since, the last time ${<Ago at={lastUsedAt ?? ''} inSentence />}.`
        : say`Used since from ${listed(firstOf(addresses, client))}.`}
      {(addressesMissingBefore ?? '') >= foundAt &&
        say` Up to ${<Moment at={addressesMissingBefore ?? ''} />}, other addresses may have used it too.`}
      {missing}
    </>
  )
}

type AddressUse = ClientUsage['addresses'][number]

const firstOf = (addresses: readonly AddressUse[], client: OAuthClient): ReactNode[] => [
  ...addresses.slice(0, SHOWN_MAX).map((use) => <AddressSince key={use.address} client={client} {...use} />),
  ...(addresses.length > SHOWN_MAX ? [`${addresses.length - SHOWN_MAX} more`] : []),
]

function AddressSince({ client, address, firstSeenAt }: AddressUse & { client: OAuthClient }) {
  const before_s = (Date.parse(client.secretFoundAt ?? '') - Date.parse(firstSeenAt)) / 1_000
  const isNew = before_s <= 0
  const isOlder = Date.now() - Date.parse(client.createdAt) > ADDRESS_DAYS_KEPT * 86_400_000
  const words = `first seen ${duration(Math.abs(before_s))} ${isNew ? 'after' : 'before'} the report`
  return (
    <>
      <code>{address}</code> (<span className={isNew ? 'strong' : undefined}>{words}</span>
      {isOlder && `, looking back ${ADDRESS_DAYS_KEPT} days`})
    </>
  )
}

/** Marks a client in a list. */
export const FoundMark = () => (
  <span className="flex-none text-[13px] font-strong text-bad">Secret found</span>
)

export const FoundFact = ({ client }: { client: OAuthClient }) =>
  client.secretFoundAt && (
    <Fact name="Secret found">
      <Moment at={client.secretFoundAt} />
      {client.secretFoundSource && say`, at ${<code className="wrap">{client.secretFoundSource}</code>}`}
    </Fact>
  )
