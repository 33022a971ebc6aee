import { memo, type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { SCREENS, useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'
import { useGrowing } from '../ui/growing.ts'
import { CloseIcon, MoreIcon, RotateIcon } from '../ui/icons.tsx'
import { Menu, MenuItem } from '../ui/Menu.tsx'
import { CredentialHint, credentialName } from './credential.tsx'
import { FailingMark } from './Failing.tsx'
import { FoundMark } from './FoundSecrets.tsx'
import type { Order, Wanted } from './find-clients.ts'
import { type Pair, pairOf } from './pair.ts'
import { RevokeClient } from './RevokeClient.tsx'
import { forgetFresh, useFresh } from './reveal.ts'
import { ScopesInBrief } from './ScopesInBrief.tsx'
import { Sparkline } from './Sparkline.tsx'
import { Expires, LastUsed, Status } from './Status.tsx'

export interface ClientsTableProps {
  clients: readonly OAuthClient[]
  /** Finds any client of the company, shown or not. */
  find: (clientId: string) => OAuthClient | undefined
  wanted: Wanted
  onWant: (part: Partial<Wanted>) => void
}

const MARKED_MS = 8_000
/** About a screenful. */
const ROWS_A_STEP = 14

/** Rows are drawn a screenful at a time, so no cell may widen a column. Each fits its longest text; names get the rest. */
const CELL = {
  proof: 'desk:w-[130px] max-[1360px]:hidden',
  tokens: 'number desk:w-[152px] max-[1120px]:hidden',
  added: 'desk:w-[120px] max-[1000px]:hidden',
}

export function ClientsTable({ clients, find, wanted, onWant }: ClientsTableProps) {
  const [revoking, setRevoking] = useState<OAuthClient>()
  const fresh = useFresh()
  useEffect(() => {
    if (!fresh) return
    const timer = setTimeout(forgetFresh, MARKED_MS)
    return () => clearTimeout(timer)
  }, [fresh])
  const shown = useGrowing(clients.length, ROWS_A_STEP)
  const rows = clients.slice(0, shown).map((client) => ({ client, ...pairOf(client, find) }))
  const statusTold = wanted.view === 'all' || wanted.view === 'revoked'
  const idCell = statusTold ? 'desk:w-[255px] max-[1760px]:hidden' : 'desk:w-[255px] max-[1640px]:hidden'
  const expiryTold = wanted.view === 'expiring' || clients.some(({ expiresAt }) => expiresAt !== null)
  return (
    <>
      <table className="table table-stacked desk:table-fixed [&_tbody_:is(th,td)]:align-middle [&_tbody_:is(th,td)]:whitespace-nowrap [&_thead_th]:align-baseline desk:[&_tbody_:is(th,td):not(.row-actions)]:py-2.5 max-desk:[&_tbody_td]:text-ink-2">
        <caption className="off-screen">OAuth2 clients</caption>
        <thead>
          <tr>
            <Sortable order="name" wanted={wanted} onWant={onWant}>
              Client
            </Sortable>
            <th scope="col" className={idCell}>
              Client id
            </th>
            <th scope="col" className={CELL.proof}>
              Secret or key
            </th>
            <th scope="col" className="desk:w-[158px]">
              Scopes
            </th>
            {statusTold && (
              <th scope="col" className="desk:w-24">
                Status
              </th>
            )}
            <Sortable order="used" wanted={wanted} onWant={onWant} className="desk:w-[120px]">
              Last used
            </Sortable>
            <th scope="col" className={CELL.tokens}>
              Tokens, 24 h
            </th>
            {expiryTold && (
              <Sortable order="expires" wanted={wanted} onWant={onWant} className="desk:w-[120px]">
                Expires
              </Sortable>
            )}
            <Sortable order="added" wanted={wanted} onWant={onWant} className={CELL.added}>
              Added
            </Sortable>
            <th scope="col" className="row-actions">
              <span className="off-screen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <ClientRow
              key={row.client.clientId}
              {...row}
              statusTold={statusTold}
              idCell={idCell}
              expiryTold={expiryTold}
              fresh={row.client.clientId === fresh}
              onRevoke={setRevoking}
            />
          ))}
        </tbody>
      </table>
      {revoking && <RevokeClient client={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  )
}

interface SortableProps extends Omit<ClientsTableProps, 'clients' | 'find'> {
  order: Order
  className?: string
  children: ReactNode
}

function Sortable({ order, wanted, onWant, className, children }: SortableProps) {
  const here = wanted.order === order
  // A name and an expiry ascend at first; the two times of the past have the newest first.
  const ascending = (order === 'name' || order === 'expires') !== wanted.reversed
  return (
    <th
      scope="col"
      className={className}
      aria-sort={here ? (ascending ? 'ascending' : 'descending') : undefined}
    >
      <button
        type="button"
        className="cursor-pointer border-0 bg-transparent p-0 hover:text-ink hover:underline hover:underline-offset-[3px] in-aria-[sort]:font-[620] in-aria-[sort]:text-ink"
        onClick={() => onWant({ order, reversed: here && !wanted.reversed })}
      >
        {children}
        <span className="inline-block w-[1.2em] text-center" aria-hidden="true">
          {here ? (ascending ? '↑' : '↓') : ''}
        </span>
      </button>
    </th>
  )
}

interface ClientRowProps extends Partial<Pair> {
  client: OAuthClient
  statusTold: boolean
  idCell: string
  expiryTold: boolean
  /** Just created: marked once. */
  fresh: boolean
  onRevoke: (client: OAuthClient) => void
}

const ClientRow = memo((props: ClientRowProps) => {
  const { client, role, other, statusTold, idCell, expiryTold, fresh, onRevoke } = props
  const { to } = useCompany()
  const [, navigate] = useLocation()
  const row = useRef<HTMLTableRowElement>(null)
  useEffect(() => {
    if (fresh) row.current?.scrollIntoView({ block: 'nearest' })
  }, [fresh])
  const href = `${to(SCREENS.clients)}/${client.clientId}`
  const revoked = client.status === 'Revoked'
  return (
    <tr ref={row} className={fresh ? 'row-new bg-mark-soft' : undefined}>
      <th scope="row" className={fresh ? 'ps-2.5 shadow-[inset_3px_0_0_var(--mark)]' : undefined}>
        <Link
          className={`wrap block whitespace-normal decoration-line-strong ${revoked ? 'font-[500] text-ink-3' : 'font-[620] text-ink'}`}
          href={href}
          title={client.name}
        >
          <bdi>{client.name}</bdi>
        </Link>
        <FoundMark client={client} />
        <FailingMark client={client} />
      </th>
      <td className={idCell}>
        <span className="-my-2 inline-flex items-center gap-0.5 text-[13px] text-ink-3">
          <code>{client.clientId}</code>
          <CopyButton text={client.clientId} what={`client id of ${client.name}`} />
        </span>
      </td>
      <td className={CELL.proof}>
        <CredentialHint client={client} />
      </td>
      <td>
        <ScopesInBrief scopes={client.scopes} />
      </td>
      {statusTold && (
        <td data-label="Status" className="[&_time]:block [&_time]:text-[13px]">
          <Status client={client} />
          {client.revokedAt && <Ago at={client.revokedAt} by={client.revokedBy?.name ?? ''} />}
        </td>
      )}
      <td className="max-desk:has-[time]:before:content-['Used_']">
        <LastUsed client={client} />
        {role && other && <PairNote client={client} role={role} other={other} />}
      </td>
      <td className={CELL.tokens}>
        <Sparkline counts={client.tokensByDay} />
        <span className="inline-block min-w-[9ch]">{client.tokensIssued24h.toLocaleString('en')}</span>
      </td>
      {expiryTold && (
        <td
          className={
            client.expiresAt === null ? 'max-desk:hidden' : "max-desk:has-[time]:before:content-['Expires_']"
          }
        >
          <Expires client={client} />
        </td>
      )}
      <td data-label="Added" className={CELL.added}>
        <Ago at={client.createdAt} by={client.createdBy.name} />
      </td>
      <td className="row-actions">
        {!revoked && (
          <Menu
            trigger={
              <button type="button" className="icon-button" aria-label={`Actions for ${client.name}`}>
                <MoreIcon />
              </button>
            }
          >
            <MenuItem icon={<RotateIcon />} onSelect={() => navigate(`${href}/rotate`)}>
              {role === 'old' ? 'Continue the rotation' : `Rotate the ${credentialName(client)}`}
            </MenuItem>
            <MenuItem icon={<CloseIcon />} danger onSelect={() => onRevoke(client)}>
              Revoke
            </MenuItem>
          </Menu>
        )}
      </td>
    </tr>
  )
})

/** Leads to the rotation from both of its clients. */
function PairNote({ client, role, other }: Pair & { client: OAuthClient }) {
  const { to } = useCompany()
  const old = role === 'old' ? client : other
  return (
    <Link className="block text-[13px]" href={`${to(SCREENS.clients)}/${old.clientId}/rotate`}>
      {role === 'old' ? 'Being replaced' : client.lastUsedAt ? 'Taking over' : 'Replacement'}
      <span className="off-screen">
        {role === 'old' ? ' by ' : client.lastUsedAt ? ' from ' : ' of '}
        {other.name}
      </span>
    </Link>
  )
}

const ROWS = Array.from({ length: 12 }, (_, row) => row)

export const ClientsTableSkeleton = () => (
  <div className="rows-skeleton" aria-hidden="true">
    {ROWS.map((row) => (
      <div key={row}>
        <span />
        <span />
      </div>
    ))}
  </div>
)
