import { memo, type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { SCREENS, useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'
import { CloseIcon, MoreIcon, RotateIcon } from '../ui/icons.tsx'
import { SkeletonLine } from '../ui/Loaded.tsx'
import { Menu, MenuItem } from '../ui/Menu.tsx'
import { rotationName } from './credential.tsx'
import { FailingMark } from './Failing.tsx'
import { FoundMark } from './FoundSecrets.tsx'
import type { ClientFilter, Order } from './find-clients.ts'
import { Sparkline } from './HourChart.tsx'
import { type Pair, rotationPair } from './pair.ts'
import { RevokeClient } from './RevokeClient.tsx'
import { Expires, LastUsed, Status } from './Status.tsx'
import { inOrder, SCOPE_WORDS } from './scopes.ts'

export interface ClientsTableProps {
  clients: readonly OAuthClient[]
  /** Finds any client of the company, shown or not. */
  find: (clientId: string) => OAuthClient | undefined
  query: ClientFilter
  onChange: (part: Partial<ClientFilter>) => void
}

/** No cell widens a column as the list changes. Each column fits its longest text, and names get the rest. */
const CELLS =
  '[&_tbody_:is(th,td)]:align-middle desk:[&_tbody_:is(th,td)]:whitespace-nowrap [&_thead_th]:align-baseline desk:[&_tbody_:is(th,td):not(.row-actions)]:py-2.5'
const CELL = {
  tokens: 'number desk:w-[152px] max-[1120px]:hidden',
  added: 'desk:w-[120px] max-[1240px]:hidden',
}

export function ClientsTable({ clients, find, query, onChange }: ClientsTableProps) {
  const { mayManage } = useCompany()
  const [revoking, setRevoking] = useState<OAuthClient>()
  const rows = clients.map((client) => {
    const successor = client.replacedBy === null ? undefined : find(client.replacedBy)
    return { client, ...rotationPair(client, find), successor }
  })
  const showStatus = query.view === 'all' || query.view === 'revoked'
  const idCell = showStatus ? 'desk:w-[255px] max-[1760px]:hidden' : 'desk:w-[255px] max-[1640px]:hidden'
  const showExpiry = query.view === 'expiring' || clients.some(({ expiresAt }) => expiresAt !== null)
  return (
    <>
      <table className={`table table-stacked desk:table-fixed max-desk:[&_tbody_td]:text-ink-2 ${CELLS}`}>
        <caption className="off-screen">OAuth2 clients</caption>
        <thead>
          <tr>
            <Sortable order="name" query={query} onChange={onChange}>
              Client
            </Sortable>
            <th scope="col" className={idCell}>
              Client id
            </th>
            <th scope="col" className="desk:w-[158px]">
              Scopes
            </th>
            {showStatus && (
              <th scope="col" className="desk:w-[190px] desk:max-[1240px]:w-24">
                Status
              </th>
            )}
            <Sortable order="used" query={query} onChange={onChange} className="desk:w-[120px]">
              Last used
            </Sortable>
            <th scope="col" className={CELL.tokens}>
              Tokens, 24 h
            </th>
            {showExpiry && (
              <Sortable order="expires" query={query} onChange={onChange} className="desk:w-[120px]">
                Expires
              </Sortable>
            )}
            <Sortable order="added" query={query} onChange={onChange} className={CELL.added}>
              Added
            </Sortable>
            <th scope="col" className="row-actions" hidden={!mayManage}>
              <span className="off-screen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <ClientRow
              key={row.client.clientId}
              {...row}
              showStatus={showStatus}
              idCell={idCell}
              showExpiry={showExpiry}
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

function Sortable({ order, query, onChange, className, children }: SortableProps) {
  const isSorted = query.order === order
  // Names and expiries ascend at first. The two past times start with the newest.
  const ascending = (order === 'name' || order === 'expires') !== query.reversed
  return (
    <th
      scope="col"
      className={className}
      aria-sort={isSorted ? (ascending ? 'ascending' : 'descending') : undefined}
    >
      <button
        type="button"
        className="cursor-pointer border-0 bg-transparent p-0 hover:text-ink hover:underline hover:underline-offset-[3px] in-aria-[sort]:font-[620] in-aria-[sort]:text-ink"
        onClick={() => onChange({ order, reversed: isSorted && !query.reversed })}
      >
        {children}
        <span className="inline-block w-[1.2em] text-center" aria-hidden="true">
          {isSorted ? (ascending ? '↑' : '↓') : ''}
        </span>
      </button>
    </th>
  )
}

interface ClientRowProps extends Partial<Pair> {
  client: OAuthClient
  /** The client that replaces it, whether or not it is Active. */
  successor: OAuthClient | undefined
  showStatus: boolean
  idCell: string
  showExpiry: boolean
  onRevoke: (client: OAuthClient) => void
}

const ClientRow = memo((props: ClientRowProps) => {
  const { client, role, other, successor, showStatus, idCell, showExpiry, onRevoke } = props
  const { to, mayManage } = useCompany()
  const [, navigate] = useLocation()
  const href = `${to(SCREENS.clients)}/${client.clientId}`
  const revoked = client.status === 'Revoked'
  return (
    <tr>
      <th scope="row">
        <span className="flex items-baseline gap-x-3 max-desk:flex-wrap">
          <Link
            className={`${NAME} ${revoked ? 'font-[500] text-ink-3' : 'font-[620] text-ink'}`}
            href={href}
            title={client.name}
          >
            <bdi>{client.name}</bdi>
          </Link>
          <Mark client={client} role={role} other={other} successor={successor} />
        </span>
      </th>
      <td className={idCell}>
        <span className="-my-2 inline-flex items-center gap-0.5 text-[13px] text-ink-3">
          <code>{client.clientId}</code>
          <CopyButton text={client.clientId} what={`client id of ${client.name}`} />
        </span>
      </td>
      <td>
        <ScopesInBrief scopes={client.scopes} />
      </td>
      {showStatus && (
        <td
          data-label="Status"
          className="[&_time]:ms-1.5 [&_time]:text-[13px] desk:max-[1240px]:[&_time]:hidden"
        >
          <Status client={client} />
          {client.revokedAt && <Ago at={client.revokedAt} by={client.revokedBy?.name ?? ''} />}
        </td>
      )}
      <td>
        {client.lastUsedAt && <span className="desk:hidden">Used </span>}
        <LastUsed client={client} />
      </td>
      <td className={CELL.tokens}>
        <Sparkline counts={client.tokensByDay} />
        <span className="inline-block min-w-[9ch]">{client.tokensIssued24h.toLocaleString('en')}</span>
      </td>
      {showExpiry && (
        <td className={client.expiresAt === null ? 'max-desk:hidden' : undefined}>
          <Expires client={client} />
        </td>
      )}
      <td data-label="Added" className={CELL.added}>
        <Ago at={client.createdAt} by={client.createdBy.name} />
      </td>
      <td className="row-actions" hidden={!mayManage}>
        {!revoked && mayManage && (
          <Menu
            trigger={
              <button type="button" className="icon-button" aria-label={`Actions for ${client.name}`}>
                <MoreIcon />
              </button>
            }
          >
            <MenuItem icon={<RotateIcon />} onSelect={() => navigate(`${href}/rotate`)}>
              {role === 'old' ? 'Continue the rotation' : rotationName(client)}
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

/** On one line with its marks. Pointing at it or focusing it shows the whole name. */
const NAME =
  'touch min-w-0 decoration-line-strong max-desk:wrap max-desk:whitespace-normal desk:truncate desk:focus-visible:whitespace-normal'

type MarkProps = Pick<ClientRowProps, 'client' | 'successor'> & {
  [Part in keyof Pair]: Pair[Part] | undefined
}

/** What a person should know of the client first. */
function Mark({ client, role, other, successor }: MarkProps) {
  if (client.secretFoundAt && client.status === 'Active') return <FoundMark />
  if (client.failing && client.status === 'Active') return <FailingMark failing={client.failing} />
  if (client.failing) return <AskingMark successor={successor} />
  return role && other && <PairNote client={client} role={role} other={other} />
}

function AskingMark({ successor }: { successor: OAuthClient | undefined }) {
  const { to } = useCompany()
  return (
    <span className="text-[13px] font-strong text-bad desk:min-w-[11ch] desk:flex-none desk:truncate">
      Still asks
      {successor && (
        <>
          , replaced by{' '}
          <Link href={`${to(SCREENS.clients)}/${successor.clientId}`}>
            <bdi>{successor.name}</bdi>
          </Link>
        </>
      )}
    </span>
  )
}

/** Leads to the rotation from both of its clients. */
function PairNote({ client, role, other }: Pair & { client: OAuthClient }) {
  const { to } = useCompany()
  const old = role === 'old' ? client : other
  return (
    <Link className="touch flex-none text-[13px]" href={`${to(SCREENS.clients)}/${old.clientId}/rotate`}>
      {role === 'old' ? 'Being replaced' : 'Replacement'}
      <span className="off-screen">{` ${role === 'old' ? 'by' : 'of'} ${other.name}`}</span>
    </Link>
  )
}

/** One scope by name, several as counts of reads and writes. */
function ScopesInBrief({ scopes }: Pick<OAuthClient, 'scopes'>) {
  const writes = scopes.filter((scope) => SCOPE_WORDS[scope].changes).length
  const reads = scopes.length - writes
  const counts = [reads > 0 && `read ×${reads}`, writes > 0 && `write ×${writes}`].filter(Boolean)
  return (
    <code className="text-[13px]" title={inOrder(scopes).join(', ')}>
      {scopes.length === 1 ? scopes : counts.join(', ')}
    </code>
  )
}

const ROWS = Array.from({ length: 12 }, (_, row) => row)

export const ClientsTableSkeleton = () => (
  <div className="pt-[86px]" aria-hidden="true">
    {ROWS.map((row) => (
      <div key={row} className="flex h-[45px] items-center gap-[12%] border-b border-line">
        <SkeletonLine className="w-[34%]" />
        <SkeletonLine className="w-[22%]" />
      </div>
    ))}
  </div>
)
