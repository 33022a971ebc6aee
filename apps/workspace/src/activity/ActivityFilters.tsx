import { type ChangeEvent, type ReactNode, useId } from 'react'
import { useSearchParams } from 'wouter'
import { useAllClients } from '../api/clients.ts'
import type { ActivityEntry, OAuthClient } from '../api/contract.ts'
import { useActivity, usePeople } from '../api/resources.ts'
import { Button } from '../ui/Button.tsx'
import { Input, Select } from '../ui/Field.tsx'
import { ACTIONS } from './actions.ts'
import { type Filters, NO_FILTERS } from './filters.ts'

export interface ActivityFilterProps {
  filters: Filters
  /** Those that are loaded: they also name people who have left. */
  entries: readonly ActivityEntry[]
  onFilter: (part: Partial<Filters>) => void
}

interface Option {
  value: string
  label: string
}

const KINDS: Option[] = Object.entries(ACTIONS).map(([value, [label]]) => ({ value, label }))

/** By person, kind, client and time. */
export function ActivityFilters({ filters, entries, onFilter }: ActivityFilterProps) {
  const people = usePeopleOptions(filters.person, entries)
  const clients = useClientOptions(filters.client)
  // Also a date that is not typed to its end: "0002-11-01" becomes "2026-11-01".
  const [search] = useSearchParams()
  const typed = (name: 'from' | 'to') => search.get(name) ?? ''
  const isFiltered = Object.values(filters).some((text) => text !== '')
  return (
    <search
      className="grid grid-cols-[repeat(auto-fit,minmax(140px,1fr))] items-end gap-x-3.5 gap-y-2.5 pb-5 sm:grid-cols-3 xl:grid-cols-[repeat(5,minmax(0,1fr))_auto]"
      aria-label="Filter the activity"
    >
      <Filter label="Person" value={filters.person} onChange={(person) => onFilter({ person })}>
        {(control) => <Choice {...control} any="Everyone" options={people} />}
      </Filter>
      <Filter label="Kind" value={filters.kind} onChange={(kind) => onFilter({ kind })}>
        {(control) => <Choice {...control} any="Everything" options={KINDS} />}
      </Filter>
      <Filter label="Client" value={filters.client} onChange={(client) => onFilter({ client })}>
        {(control) => <Choice {...control} any="All" options={clients} />}
      </Filter>
      <Filter label="From" value={typed('from')} onChange={(from) => onFilter({ from })}>
        {(control) => <Input {...control} type="date" max={filters.to || undefined} />}
      </Filter>
      <Filter label="To" value={typed('to')} onChange={(to) => onFilter({ to })}>
        {(control) => <Input {...control} type="date" min={filters.from || undefined} />}
      </Filter>
      {isFiltered && (
        <Button variant="quiet" onClick={() => onFilter(NO_FILTERS)}>
          Clear filters
        </Button>
      )}
    </search>
  )
}

interface FilterProps {
  label: string
  value: string
  onChange: (value: string) => void
  children: (control: Control) => ReactNode
}

interface Control {
  id: string
  className: string
  value: string
  onChange: (event: ChangeEvent<HTMLInputElement | HTMLSelectElement>) => void
}

function Filter({ label, value, onChange, children }: FilterProps) {
  const id = useId()
  return (
    <div className="grid grid-cols-1 gap-1 nth-3:col-span-full sm:nth-3:col-auto">
      <label className="text-sm text-muted" htmlFor={id}>
        {label}
      </label>
      {children({ id, className: 'h-11 sm:h-10.5', value, onChange: ({ target }) => onChange(target.value) })}
    </div>
  )
}

/** @param props.any names the option that filters nothing. */
const Choice = ({ any, options, ...control }: Control & { any: string; options: readonly Option[] }) => (
  <Select {...control}>
    <option value="">{any}</option>
    {options.map(({ value, label }) => (
      <option key={value} value={value}>
        {label}
      </option>
    ))}
  </Select>
)

function usePeopleOptions(selection: string, entries: readonly ActivityEntry[]): Option[] {
  const { data: people } = usePeople()
  // Who is only invited has done nothing yet.
  const members = people?.filter(({ status }) => status !== 'invited') ?? []
  const names = new Map(members.map(({ userId, name }) => [userId, name]))
  const isKnown = ['', 'operator', ...names.keys()].includes(selection)
  const ownEntries = useActivity({ userId: selection }, !isKnown).data?.pages.flatMap((page) => page.entries)
  for (const { by } of [...entries, ...(ownEntries ?? [])])
    if (by.userId && !names.has(by.userId)) names.set(by.userId, by.name)
  if (!isKnown && !names.has(selection))
    names.set(selection, people && ownEntries ? `Unknown person (${selection})` : selection)
  return [
    ...[...names].map(([value, label]) => ({ value, label })),
    { value: 'operator', label: 'Operator of the service' },
  ]
}

function useClientOptions(selection: string): Option[] {
  const { data: clients = [], complete } = useAllClients()
  const byName = Map.groupBy(clients, ({ name }) => name)
  const known = [...clients]
    .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
    .map((client) => ({
      value: client.clientId,
      label: clientLabel(client, (byName.get(client.name)?.length ?? 0) > 1),
    }))
  if (selection === '' || known.some(({ value }) => value === selection)) return known
  return [...known, { value: selection, label: complete ? `Unknown client (${selection})` : selection }]
}

const clientLabel = ({ name, clientId, status }: OAuthClient, ambiguous: boolean): string =>
  `${name}${ambiguous ? ` (${clientId.slice(0, 10)}…)` : ''}${status === 'Revoked' ? ', revoked' : ''}`
