import { midnight } from '../api/midnight.ts'
import type { ActivityQuery } from '../api/resources.ts'
import { daysLater, isDay } from '../api/time.ts'
import { ACTIONS } from './actions.ts'

/** The filter in the address. Empty text matches all. `from` and `to` are the company's days, inclusive. */
export interface Filters {
  person: string
  kind: string
  client: string
  from: string
  to: string
}

export const NO_FILTERS: Filters = { person: '', kind: '', client: '', from: '', to: '' }
const NAMES = Object.keys(NO_FILTERS) as (keyof Filters)[]
const SHAPES: Record<keyof Filters, RegExp> = {
  person: /^(?:usr_[A-Za-z0-9]{1,60}|operator)$/,
  kind: /^[a-z]+\.[a-z_]+$/,
  client: /^cli_[A-Za-z0-9]{22}$/,
  from: /^[12]\d{3}-\d\d-\d\d$/,
  to: /^[12]\d{3}-\d\d-\d\d$/,
}

/** What cannot be meant is left out, since an address may be mistyped. */
export function filtersIn(search: URLSearchParams): Filters {
  const filters = { ...NO_FILTERS }
  for (const name of NAMES) {
    const text = search.get(name) ?? ''
    if (SHAPES[name].test(text)) filters[name] = text
  }
  if (!Object.hasOwn(ACTIONS, filters.kind)) filters.kind = ''
  if (!isDay(filters.from)) filters.from = ''
  if (!isDay(filters.to)) filters.to = ''
  return filters
}

export const filterParams = (filters: Filters): URLSearchParams =>
  new URLSearchParams(NAMES.filter((name) => filters[name]).map((name) => [name, filters[name]]))

/** @param zone of the company. */
export function toActivityQuery({ person, kind, client, from, to }: Filters, zone: string): ActivityQuery {
  return {
    ...(person && { userId: person }),
    ...(kind && { action: kind }),
    ...(client && { clientId: client }),
    ...(from && { from: midnight(from, zone).toISOString() }),
    ...(to && { to: midnight(daysLater(to, 1), zone).toISOString() }),
  }
}
