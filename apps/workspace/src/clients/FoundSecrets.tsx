import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useFoundClients, useUsage } from '../api/clients.ts'
import { SCREENS, useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { OwnerName } from '../shell/Page.tsx'
import { Ago, Moment } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Fact } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { say } from '../ui/say.tsx'
import { RevokeClient } from './RevokeClient.tsx'

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
              Revoke now: what uses the client fails until it has a replacement. Replace first: nothing fails,
              and whoever has the secret can use it until you revoke.
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
          <Button
            variant="danger"
            aria-label={`Revoke now: ${client.name}`}
            onClick={() => setRevoking(true)}
          >
            Revoke now
          </Button>
          <Button aria-label={`Replace first: ${client.name}`} onClick={() => navigate(`${page}/rotate`)}>
            Replace first
          </Button>
        </span>
      )}
      {revoking && <RevokeClient client={client} onClose={() => setRevoking(false)} />}
    </li>
  )
}

/** Who used the client since its secret was reported. A new address got no token on an earlier day. */
function UseSince({ client: { clientId, secretFoundAt, lastUsedAt } }: { client: OAuthClient }) {
  const { data, isError } = useUsage(clientId)
  if (secretFoundAt === null) return null
  if (!data || isError) return <>Used since: –.</>
  const addresses = data.addresses.filter(({ lastSeenAt }) => lastSeenAt >= secretFoundAt)
  if (addresses.length === 0)
    return (lastUsedAt ?? '') < secretFoundAt ? <>Not used since.</> : <>Used since, from many addresses.</>
  return (
    <>
      Used since from{' '}
      {addresses.map(({ address, firstDay }) => (
        <span key={address} className="not-first-of-type:before:content-[',_']">
          <code>{address}</code>
          {firstDay >= secretFoundAt.slice(0, 10) && <strong> (not seen before)</strong>}
        </span>
      ))}
      .
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
