import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useAllClients } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Input } from '../ui/Field.tsx'
import { FilterChoice } from '../ui/FilterChoice.tsx'
import { PlusIcon } from '../ui/icons.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { say } from '../ui/say.ts'
import { useSearch } from '../ui/search.ts'
import { Attention } from './Attention.tsx'
import { ClientsTable, type ClientsTableProps } from './ClientsTable.tsx'
import { CreateClient } from './CreateClient.tsx'
import {
  CLIENT_FILTER,
  type ClientFilter,
  mostExpire,
  refusalsKnown,
  searchClients,
  TROUBLES,
  VIEWS,
  type View,
} from './find-clients.ts'
import { RevokeClient } from './RevokeClient.tsx'

/** The dialog for a new client is open while the address has `?new`. */
export function ClientsScreen() {
  const { mayManage } = useCompany()
  const [search, setSearch] = useSearchParams()
  // Not in the list, where a filter may leave nothing while someone types.
  const [revoking, setRevoking] = useState<OAuthClient>()
  function setCreating(creating: boolean): void {
    const others = [...search].filter(([name]) => name !== 'new')
    setSearch(creating ? [...others, ['new', '']] : others, { replace: true })
  }
  return (
    <Page
      title="OAuth2 Clients"
      section="Integrations"
      lede="Each client lets one of your systems call the API without a person, within its scopes."
      wide
      actions={
        <Button variant="primary" icon={<PlusIcon />} onClick={() => setCreating(true)}>
          Create client
        </Button>
      }
    >
      <ClientList onRevoke={setRevoking} />
      {search.has('new') && mayManage && <CreateClient onClose={() => setCreating(false)} />}
      {revoking && <RevokeClient client={revoking} onClose={() => setRevoking(undefined)} />}
    </Page>
  )
}

function ClientList({ onRevoke }: Pick<ClientsTableProps, 'onRevoke'>) {
  const [filter, change] = useSearch(CLIENT_FILTER)
  const query = useAllClients()
  return (
    <Loaded query={query} skeleton={<Skeleton lines={12} />}>
      {(clients) => {
        if (clients.length === 0) return <FirstClient />
        const matches = searchClients(clients, filter)
        return (
          <div>
            <Attention clients={clients} onShow={(show) => change({ show, q: '', createdBy: '' })} />
            {filter.createdBy && (
              <CreatedBy
                client={clients.find(({ createdBy }) => createdBy.userId === filter.createdBy)}
                onRemove={() => change({ createdBy: '' })}
              />
            )}
            <ClientSearch
              query={filter}
              counts={matches.counts}
              complete={query.complete}
              known={refusalsKnown(clients)}
              onChange={change}
            />
            {matches.clients.length > 0 ? (
              <ClientsTable
                key={filter.show}
                clients={matches.clients}
                find={(clientId) => clients.find((client) => client.clientId === clientId)}
                showExpiry={filter.show === 'expiring' || mostExpire(clients)}
                query={filter}
                onChange={change}
                onRevoke={onRevoke}
              />
            ) : (
              <NothingFound query={filter} counts={matches.counts} onChange={change} />
            )}
          </div>
        )
      }}
    </Loaded>
  )
}

/** Says that the list has only one person's clients, such as this one, and how to see the others. */
const CreatedBy = ({ client, onRemove }: { client: OAuthClient | undefined; onRemove: () => void }) => (
  <p className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2">
    <span>
      Only clients created by{' '}
      {client ? <bdi className="font-strong">{client.createdBy.name}</bdi> : 'this person'}.
    </span>
    <Button onClick={onRemove}>Show clients of everyone</Button>
  </p>
)

interface FilterProps {
  query: ClientFilter
  counts: Record<View, number>
  onChange: (part: Partial<ClientFilter>) => void
}

/** Where to look instead. */
function NothingFound({ query: { show: view, q: text }, counts, onChange }: FilterProps) {
  const label = VIEWS.find((option) => option.view === view)?.label
  return (
    <div className="grid gap-3.5 py-7 text-ink-2">
      <p>
        No clients{view !== 'all' && ` in “${label}”`}
        {text && say` match “${text}”`}.
      </p>
      <p className="flex flex-wrap gap-1.5 sm:gap-2.5">
        {view !== 'all' && counts.all > 0 && (
          <Button onClick={() => onChange({ show: 'all' })}>Show {counts.all} in all clients</Button>
        )}
        {text && <Button onClick={() => onChange({ q: '' })}>Clear the search</Button>}
      </p>
    </div>
  )
}

interface ClientSearchProps extends FilterProps {
  /** False while older revoked clients are still loading. */
  complete: boolean
  /** False while it is not known which clients fail or still ask. */
  known: boolean
}

/** Finds clients by name or id. Each filter says how many of them it has. */
function ClientSearch({ query, counts, complete, known, onChange }: ClientSearchProps) {
  const { show: view, q: text } = query
  const countText = (name: View) => {
    if (!known && (name === 'failing' || name === 'asking')) return '–'
    return `${counts[name].toLocaleString('en')}${complete || (name !== 'revoked' && name !== 'all') ? '' : '+'}`
  }

  return (
    <search className="mb-1.5 flex flex-wrap items-center gap-x-5 gap-y-2">
      <Input
        className="basis-full desk:min-h-9.5 desk:basis-75"
        type="search"
        aria-label="Search by name or client id"
        placeholder="Search by name or id"
        autoComplete="off"
        spellCheck={false}
        dir="auto"
        value={text}
        onChange={(event) => onChange({ q: event.target.value })}
        onKeyDown={({ key }) => key === 'Escape' && onChange({ q: '' })}
      />
      <FilterChoice
        legend="Show"
        name="show"
        value={view}
        options={VIEWS.filter(
          ({ view: name }) => view === name || !TROUBLES.some((trouble) => trouble.view === name),
        ).map(({ view: name, label }) => ({ value: name, label, count: countText(name) }))}
        onChange={(next) => onChange({ show: next })}
      />
      <p className="sr-only" role="status">
        {text && `${counts[view]} found`}
      </p>
    </search>
  )
}

const STEPS = [
  {
    title: 'Create a client',
    text: 'Name it and choose its scopes. You get an id and a secret or a private key, offered only once.',
    docs: undefined,
  },
  {
    title: 'Get a token with it',
    text: 'Your system requests one from the token endpoint. A token lasts 15 minutes.',
    docs: { to: DOCS.token, label: 'How to get a token' },
  },
  {
    title: 'Call the API with it',
    text: 'Report what your shop sells, and read it again as daily analytics.',
    docs: { to: DOCS.events, label: 'How to report events' },
  },
] as const

/** What there is before the first client. */
function FirstClient() {
  return (
    <section
      className="grid justify-items-start gap-6 border-y border-line py-8"
      aria-labelledby="first-title"
    >
      <h2 id="first-title">No clients yet</h2>
      <ol className="grid w-full grid-cols-[repeat(auto-fit,minmax(220px,1fr))] gap-x-8 gap-y-5">
        {STEPS.map(({ title, text, docs }, step) => (
          <li key={title} className="grid content-start gap-1 border-t-3 border-ink pt-3.5">
            <span className="font-mono text-muted" aria-hidden="true">
              {step + 1}
            </span>
            <span className="font-strong">{title}</span>
            <span className="text-muted">
              {text} {docs && <DocsLink to={docs.to}>{docs.label}</DocsLink>}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}
