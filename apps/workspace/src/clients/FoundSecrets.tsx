import { Link } from 'wouter'
import { useFoundClients } from '../api/clients.ts'
import { SCREENS, useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Ago, Moment } from '../ui/Ago.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Fact } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'

const SHOWN_MAX = 3

/** On every screen, until the clients are revoked. The source is a stranger's text, so it never becomes a link. */
export function FoundSecrets() {
  const { to } = useCompany()
  const found = useFoundClients()
  const [first] = found
  if (!first) return null
  const more = found.length - SHOWN_MAX
  return (
    <div className="page mb-7 max-w-[1480px] [&_li]:mb-1">
      <Notice
        tone="bad"
        live
        title={found.length === 1 ? 'A client secret was found' : `${found.length} client secrets were found`}
      >
        <ul>
          {found.slice(0, SHOWN_MAX).map((client) => (
            <FoundItem key={client.clientId} client={client} />
          ))}
          {more > 0 && (
            <li>
              <Link href={to(SCREENS.clients)}>{more} more in OAuth2 Clients</Link>
            </li>
          )}
        </ul>
        <p>
          Whoever has a secret can use its client until you revoke it.{' '}
          <DocsLink to={DOCS.leaked}>If a secret has leaked</DocsLink>
        </p>
      </Notice>
    </div>
  )
}

function FoundItem({ client }: { client: OAuthClient }) {
  const { to } = useCompany()
  const page = `${to(SCREENS.clients)}/${client.clientId}`
  return (
    <li>
      <Link className="strong" href={page}>
        <bdi>{client.name}</bdi>
      </Link>
      , reported <Ago at={client.secretFoundAt ?? ''} />
      {client.secretFoundSource && (
        <>
          {' '}
          as found at <code className="wrap">{client.secretFoundSource}</code>
        </>
      )}
      .{' '}
      <Link className="strong" href={`${page}/rotate`}>
        Replace it, then revoke<span className="off-screen">: {client.name}</span>
      </Link>
    </li>
  )
}

/** Marks a client in a list. */
export const FoundMark = ({ client }: { client: OAuthClient }) =>
  client.secretFoundAt &&
  client.status === 'Active' && <span className="block text-[13px] font-strong text-bad">Secret found</span>

export const FoundFact = ({ client }: { client: OAuthClient }) =>
  client.secretFoundAt && (
    <Fact name="Secret found">
      <Moment at={client.secretFoundAt} />
      {client.secretFoundSource && (
        <>
          , at <code className="wrap">{client.secretFoundSource}</code>
        </>
      )}
    </Fact>
  )
