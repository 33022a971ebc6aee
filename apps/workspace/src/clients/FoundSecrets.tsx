import type { ReactNode } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { ADDRESS_DAYS_KEPT } from '#shared/rules/clients.ts'
import { useFoundClients, useUsage } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { ClientUsage, OAuthClient } from '../api/contract.ts'
import { duration } from '../api/time.ts'
import { OwnerName } from '../shell/Page.tsx'
import { Ago } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Fact } from '../ui/Fact.tsx'
import { Moment } from '../ui/Moment.tsx'
import { Notice } from '../ui/Notice.tsx'
import { listed, say } from '../ui/say.ts'
import { MissingUses } from './LastUsed.tsx'

const SHOWN_MAX = 3

/** A line on every screen but the client's own, until the client is revoked. */
export function FoundSecrets() {
  const { to } = useCompany()
  const [location, navigate] = useLocation()
  const [search] = useSearchParams()
  const list = to('clients')
  const { clients: found, hasMore } = useFoundClients()
  const clients = found.filter(({ clientId }) => location !== to('client', clientId))
  const [first, ...others] = clients
  if (!first) return null
  const several = others.length > 0
  const isListed = several && location === list && search.get('show') === 'found'
  return (
    <div className="mx-auto mb-7 max-w-370">
      <Notice
        tone="bad"
        live
        title={
          <>
            {several
              ? `${hasMore ? 'At least ' : ''}${clients.length} client secrets were found`
              : 'A client secret was found'}
            <span className="sr-only font-normal text-ink sm:not-sr-only">
              : <Names clients={clients} hasMore={hasMore} />
            </span>
          </>
        }
        actions={
          !isListed && (
            <Button onClick={() => navigate(several ? `${list}?show=found` : to('client', first.clientId))}>
              Review
            </Button>
          )
        }
      />
    </div>
  )
}

function Names({ clients, hasMore }: { clients: OAuthClient[]; hasMore: boolean }) {
  const { to } = useCompany()
  const names = clients.slice(0, SHOWN_MAX).map(({ clientId, name }) => (
    <Link key={clientId} href={to('client', clientId)}>
      <bdi>{name}</bdi>
    </Link>
  ))
  return listed([...names, ...(hasMore ? ['others'] : restOf(clients))])
}

const restOf = ({ length }: readonly unknown[]): string[] =>
  length > SHOWN_MAX ? [`${length - SHOWN_MAX} more`] : []

/** On the client's own screen. The source is a stranger's text, so it is never a link. */
export function FoundNotice({ client, rotating }: { client: OAuthClient; rotating: boolean }) {
  const { mayManage } = useCompany()
  const { secretFoundAt, secretFoundSource, status } = client
  if (secretFoundAt === null || status === 'Revoked') return null
  return (
    <Notice tone="bad" live title="This client’s secret was found">
      <p>
        Reported <Ago at={secretFoundAt} />
        {secretFoundSource && say` as found at ${<code className="wrap-anywhere">{secretFoundSource}</code>}`}
        . <UseSince client={client} />
      </p>
      <p>
        {mayManage && rotating
          ? 'Revoke it once your systems use its replacement: until then, whoever has the secret can use it.'
          : mayManage
            ? 'Revoke it: what uses the client fails until it has a replacement. Replace it first: nothing fails, but whoever has the secret can use it until you revoke.'
            : say`Ask ${<OwnerName />} or an admin to revoke it.`}{' '}
        <DocsLink to={DOCS.leaked}>If a secret has leaked</DocsLink>
      </p>
    </Notice>
  )
}

/** Who used the client since its secret was reported, the newest addresses first. */
function UseSince({ client }: { client: OAuthClient }) {
  const { clientId, secretFoundAt: foundAt, lastUsedAt, usesMissingBefore } = client
  const { to } = useCompany()
  const { data, isError } = useUsage(clientId)
  if (foundAt === null) return null
  if (isError) return <>Whether it has been used since cannot be read right now.</>
  if (!data) return <>Used since: –.</>
  const addresses = data.addresses
    .filter(({ lastSeenAt }) => lastSeenAt >= foundAt)
    .sort((a, b) => b.firstSeenAt.localeCompare(a.firstSeenAt))
  const missing = (usesMissingBefore ?? '') > foundAt && <MissingUses client={client} />
  if (addresses.length === 0 && (lastUsedAt ?? '') < foundAt)
    return missing ? <>No use since is known.{missing}</> : <>Not used since.</>
  const earlier = (
    <Link href={to('rotation', clientId)}>See the addresses of the last {ADDRESS_DAYS_KEPT} days</Link>
  )
  if (addresses.length === 0)
    return say`Used since, most recently ${<Ago at={lastUsedAt ?? ''} />}. ${earlier}.${missing}`
  const { addressesMissingBefore } = data
  const isOlder = Date.now() - Date.parse(client.createdAt) > ADDRESS_DAYS_KEPT * 86_400_000
  return (
    <>
      {say`Used since then from ${listed(firstOf(addresses, client))}.`}
      {isOlder && ` “First seen” looks back ${ADDRESS_DAYS_KEPT} days.`}
      {(addressesMissingBefore ?? '') >= foundAt &&
        say` Up to ${<Moment at={addressesMissingBefore ?? ''} />}, other addresses may have used it too.`}
      {missing}
    </>
  )
}

type AddressUse = ClientUsage['addresses'][number]

const firstOf = (addresses: readonly AddressUse[], client: OAuthClient): ReactNode[] => [
  ...addresses.slice(0, SHOWN_MAX).map((use) => <AddressSince key={use.address} client={client} {...use} />),
  ...restOf(addresses),
]

function AddressSince({ client, address, firstSeenAt }: AddressUse & { client: OAuthClient }) {
  const before_s = (Date.parse(client.secretFoundAt ?? '') - Date.parse(firstSeenAt)) / 1_000
  const isNew = before_s <= 0
  const words = `first seen ${duration(Math.abs(before_s))} ${isNew ? 'after' : 'before'} the report`
  return say`${<code>{address}</code>} (${<span className={isNew ? 'font-strong' : undefined}>{words}</span>})`
}

/** What the notice said, once the client is revoked. */
export const FoundFact = ({ client }: { client: OAuthClient }) =>
  client.status === 'Revoked' &&
  client.secretFoundAt && (
    <Fact name="Secret found">
      <Moment at={client.secretFoundAt} />
      {client.secretFoundSource &&
        say`, at ${<code className="wrap-anywhere">{client.secretFoundSource}</code>}`}
    </Fact>
  )
