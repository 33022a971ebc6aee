import { useId, useMemo } from 'react'
import { useAllClients } from '../api/clients.ts'
import type { ActivityEntry, OAuthClient } from '../api/contract.ts'
import { usePeople } from '../api/resources.ts'
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

/** By person, kind, client and time. */
export function ActivityFilters({ filters, entries, onFilter }: ActivityFilterProps) {
  const people = usePeopleOptions(filters.person, entries)
  const clients = useClientOptions(filters.client)
  const isFiltered = Object.values(filters).some((text) => text !== '')
  return (
    <search
      className="grid grid-cols-[repeat(auto-fit,minmax(140px,1fr))] items-end gap-x-3.5 gap-y-2.5 pb-5 sm:grid-cols-3 xl:grid-cols-[repeat(5,minmax(0,1fr))_auto]"
      aria-label="Filter the activity"
    >
      <Choice
        label="Person"
        any="Everyone"
        value={filters.person}
        options={people}
        onChange={(person) => onFilter({ person })}
      />
      <Choice
        label="Kind"
        any="Everything"
        value={filters.kind}
        options={Object.entries(ACTIONS).map(([value, [label]]) => ({ value, label }))}
        onChange={(kind) => onFilter({ kind })}
      />
      <Choice
        label="Client"
        any="All"
        value={filters.client}
        options={clients}
        onChange={(client) => onFilter({ client })}
      />
      <DayChoice label="From" value={filters.from} max={filters.to} onChange={(from) => onFilter({ from })} />
      <DayChoice label="To" value={filters.to} min={filters.from} onChange={(to) => onFilter({ to })} />
      {isFiltered && (
        <Button variant="quiet" onClick={() => onFilter(NO_FILTERS)}>
          Clear filters
        </Button>
      )}
    </search>
  )
}

const CHOICE = 'grid grid-cols-1 gap-1 max-sm:nth-3:col-span-full'

interface ChoiceProps {
  label: string
  /** The option that filters nothing. */
  any: string
  value: string
  options: readonly Option[]
  onChange: (value: string) => void
}

function Choice({ label, any, value, options, onChange }: ChoiceProps) {
  const id = useId()
  return (
    <div className={CHOICE}>
      <label className="text-sm text-muted" htmlFor={id}>
        {label}
      </label>
      <Select
        id={id}
        className="h-11 sm:h-10.5"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
        <option value="">{any}</option>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </Select>
    </div>
  )
}

interface DayChoiceProps {
  label: string
  value: string
  min?: string
  max?: string
  onChange: (value: string) => void
}

function DayChoice({ label, value, min, max, onChange }: DayChoiceProps) {
  const id = useId()
  return (
    <div className={CHOICE}>
      <label className="text-sm text-muted" htmlFor={id}>
        {label}
      </label>
      <Input
        id={id}
        className="h-11 sm:h-10.5"
        type="date"
        value={value}
        min={min || undefined}
        max={max || undefined}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  )
}

function usePeopleOptions(selection: string, entries: readonly ActivityEntry[]): Option[] {
  const { data: people } = usePeople()
  return useMemo(() => {
    // Who is only invited has done nothing yet.
    const members = people?.filter(({ status }) => status !== 'invited') ?? []
    const names = new Map(members.map(({ userId, name }) => [userId, name]))
    for (const { by } of entries) {
      if (by.userId && !names.has(by.userId)) names.set(by.userId, by.name)
    }
    if (selection && selection !== 'operator' && !names.has(selection)) names.set(selection, selection)
    return [
      ...[...names].map(([value, label]) => ({ value, label })),
      { value: 'operator', label: 'Operator of the service' },
    ]
  }, [people, entries, selection])
}

function useClientOptions(selection: string): Option[] {
  const { data: clients } = useAllClients()
  return useMemo(() => {
    if (!clients) return selection ? [{ value: selection, label: selection }] : []
    const byName = Map.groupBy(clients, ({ name }) => name)
    return [...clients]
      .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
      .map((client) => ({
        value: client.clientId,
        label: clientLabel(client, (byName.get(client.name)?.length ?? 0) > 1),
      }))
  }, [clients, selection])
}

const clientLabel = ({ name, clientId, status }: OAuthClient, ambiguous: boolean): string =>
  `${name}${ambiguous ? ` (${clientId.slice(0, 10)}…)` : ''}${status === 'Revoked' ? ', revoked' : ''}`
