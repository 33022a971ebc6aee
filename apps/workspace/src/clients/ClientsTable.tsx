import { memo, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { actorName } from '#shared/rules/actors.ts'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { IconButton } from '../ui/Button.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'
import { MoreIcon } from '../ui/icons.tsx'
import { Menu, MenuItem } from '../ui/Menu.tsx'
import { say } from '../ui/say.ts'
import { Time } from '../ui/Time.tsx'
import { rotationName } from './credential.ts'
import { FailingMark } from './Failing.tsx'
import { type ClientFilter, type Order, orderOf } from './find-clients.ts'
import { Sparkline } from './HourChart.tsx'
import { LastUsed } from './LastUsed.tsx'
import { type Pair, rotationPair } from './pair.ts'
import { useExpiry } from './Status.tsx'
import { inOrder } from './scopes.ts'

export interface ClientsTableProps {
  clients: readonly OAuthClient[]
  /** Finds any client of the company, shown or not. */
  find: (clientId: string) => OAuthClient | undefined
  showExpiry: boolean
  query: ClientFilter
  onChange: (part: Partial<ClientFilter>) => void
  onRevoke: (client: OAuthClient) => void
}

/** No cell widens a column as the list changes. */
const CELL = 'text-ink-2 align-middle desk:py-2.5 desk:whitespace-nowrap desk:text-inherit'

/** From which width of the list each column is shown: so that 300 px are left for the name. */
const COLUMNS = {
  scopes: 'desk:w-39.5 desk:@max-2xl:hidden',
  tokens: 'number hidden w-38 desk:@4xl:table-cell',
  id: 'hidden w-64 desk:@6xl:table-cell',
  last: 'hidden w-30 desk:@7xl:table-cell',
}
export function ClientsTable({ clients, find, showExpiry, query, onChange, onRevoke }: ClientsTableProps) {
  const { mayManage } = useCompany()
  const rows = clients.map((client) => {
    const successor = client.replacedBy === null ? undefined : find(client.replacedBy)
    return { client, ...rotationPair(client, find), successor }
  })
  return (
    <div className="@container">
      <table className="table table-stacked desk:table-fixed">
        <caption className="sr-only">OAuth2 clients</caption>
        <thead>
          <tr>
            <Sortable order="name" query={query} onChange={onChange}>
              Client
            </Sortable>
            <th scope="col" className={COLUMNS.id}>
              Client id
            </th>
            <th scope="col" className={COLUMNS.scopes}>
              Scopes
            </th>
            <Sortable order="used" query={query} onChange={onChange} className="desk:w-30">
              Last used
            </Sortable>
            <th scope="col" className={COLUMNS.tokens}>
              Tokens, 24 h
            </th>
            <Sortable
              order={showExpiry ? 'expires' : 'added'}
              query={query}
              onChange={onChange}
              className={COLUMNS.last}
            >
              {showExpiry ? 'Expires' : 'Added'}
            </Sortable>
            <th scope="col" className="row-actions" hidden={!mayManage}>
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <ClientRow key={row.client.clientId} {...row} showExpiry={showExpiry} onRevoke={onRevoke} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface SortableProps extends Pick<ClientsTableProps, 'query' | 'onChange'> {
  order: Order
  className?: string
  children: ReactNode
}

function Sortable({ order, query, onChange, className, children }: SortableProps) {
  const isSorted = orderOf(query.sort) === order
  const isReversed = query.sort.startsWith('-')
  // Names and expiries ascend at first. The two past times start with the newest.
  const ascending = (order === 'name' || order === 'expires') !== isReversed
  return (
    <th
      scope="col"
      className={className}
      aria-sort={isSorted ? (ascending ? 'ascending' : 'descending') : undefined}
    >
      <button
        type="button"
        className="cursor-pointer border-0 bg-transparent p-0 hover:text-ink hover:underline hover:underline-offset-3 in-aria-[sort]:font-strong in-aria-[sort]:text-ink"
        onClick={() => onChange({ sort: isSorted && !isReversed ? `-${order}` : order })}
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
  showExpiry: boolean
  onRevoke: (client: OAuthClient) => void
}

const ClientRow = memo((props: ClientRowProps) => {
  const { client, role, showExpiry, onRevoke } = props
  const { to, mayManage } = useCompany()
  const [, navigate] = useLocation()
  const href = to('client', client.clientId)
  const revoked = client.status === 'Revoked'
  return (
    <tr>
      <th scope="row" className="align-middle desk:py-2.5">
        <Link
          className={`touch ${revoked ? 'font-normal text-muted' : 'font-strong text-ink decoration-line-strong'}`}
          href={href}
        >
          <bdi>{client.name}</bdi>
        </Link>
        <Marks {...props} />
      </th>
      <td className={`${CELL} ${COLUMNS.id}`}>
        <span className="-my-2 inline-flex items-center gap-0.5 text-sm text-muted">
          <code>{client.clientId}</code>
          <CopyButton text={client.clientId} what={`client id of ${client.name}`} />
        </span>
      </td>
      <td className={`${CELL} ${COLUMNS.scopes}`}>
        <code className="text-sm whitespace-normal">{inOrder(client.scopes).join(', ')}</code>
      </td>
      <td className={CELL}>
        {client.lastUsedAt && <span className="desk:hidden">Used </span>}
        <LastUsed client={client} />
      </td>
      <td className={`${CELL} ${COLUMNS.tokens}`}>
        <Sparkline counts={client.tokensByDay} />
        <span className="inline-block min-w-[9ch]">{client.tokensIssued24h.toLocaleString('en')}</span>
      </td>
      <td className={`${CELL} ${COLUMNS.last}`}>
        {showExpiry ? (
          client.expiresAt ? (
            <Time at={client.expiresAt} format="day" />
          ) : (
            <span className="text-muted">Never</span>
          )
        ) : (
          <Ago at={client.createdAt} by={actorName(client.createdBy)} />
        )}
      </td>
      <td className="row-actions align-middle" hidden={!mayManage}>
        {!revoked && mayManage && (
          <Menu
            trigger={
              <IconButton aria-label={`Actions for ${client.name}`}>
                <MoreIcon />
              </IconButton>
            }
          >
            <MenuItem onSelect={() => navigate(to('rotation', client.clientId))}>
              {role === 'old' ? 'Continue the rotation' : rotationName(client)}
            </MenuItem>
            <MenuItem danger onSelect={() => onRevoke(client)}>
              Revoke
            </MenuItem>
          </Menu>
        )}
      </td>
    </tr>
  )
})

/** What a person should know of the client, the most urgent first, on lines below its name. */
function Marks({ client, role, other, successor }: ClientRowProps) {
  const { failing, status, secretFoundAt, revokedAt, revokedBy } = client
  const active = status === 'Active'
  return (
    <span className="flex flex-wrap gap-x-4 text-sm">
      {revokedAt && (
        <span className="text-muted">
          Revoked <Ago at={revokedAt} by={revokedBy ? actorName(revokedBy) : ''} />
        </span>
      )}
      {active && secretFoundAt && <span className="font-strong text-bad">Secret found</span>}
      {failing && (active ? <FailingMark failing={failing} /> : <AskingMark successor={successor} />)}
      <ExpiryMark client={client} />
      {role && other && <PairNote client={client} role={role} other={other} />}
    </span>
  )
}

/** Marks a client that expires soon or has expired. */
function ExpiryMark({ client }: { client: OAuthClient }) {
  const expiry = useExpiry(client)
  if (!expiry || client.expiresAt === null) return null
  return (
    <span className={`font-strong ${expiry === 'expired' ? 'text-bad' : 'text-warn'}`}>
      {expiry === 'expired' ? 'Expired' : 'Expires'} <Ago at={client.expiresAt} />
    </span>
  )
}

function AskingMark({ successor }: { successor: OAuthClient | undefined }) {
  const { to } = useCompany()
  return (
    <span className="font-strong text-bad">
      Still sends requests
      {successor && ', replaced by '}
      {successor && <Link href={to('client', successor.clientId)}>{say`${successor.name}`}</Link>}
    </span>
  )
}

/** Leads to the rotation from both of its clients. */
function PairNote({ client, role, other }: Pair & { client: OAuthClient }) {
  const { to } = useCompany()
  const old = role === 'old' ? client : other
  return (
    <Link className="touch" href={to('rotation', old.clientId)}>
      {role === 'old' ? 'Being replaced' : 'Replacement'}
      <span className="sr-only">{` ${role === 'old' ? 'by' : 'of'} ${other.name}`}</span>
    </Link>
  )
}
