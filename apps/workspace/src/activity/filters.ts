import { midnight } from '../api/midnight.ts'
import type { ActivityQuery } from '../api/resources.ts'
import { daysLater, isDay } from '../api/time.ts'

/** The kinds of entries, as they are called in the filter. */
export const KINDS: Readonly<Record<string, string>> = {
  'client.created': 'Client created',
  'client.renamed': 'Client renamed',
  'client.revoked': 'Client revoked',
  'callback.saved': 'Callback URL saved',
  'workload_issuer.keys_replaced': 'Issuer keys replaced',
  'client.secret_found': 'Client secret found',
  'company.created': 'Company created',
  'person.added': 'Person added',
  'person.invited': 'Person invited',
  'person.joined': 'Person joined',
  'person.changed': 'Role or status changed',
  'person.linked': 'Account linked',
  'person.unlinked': 'Account unlinked',
  'person.password_reset': 'Password reset',
  'person.removed': 'Person removed',
  'person.erased': 'Person erased',
  'address.claimed': 'Address used elsewhere',
  'invitation.withdrawn': 'Invitation withdrawn',
  'analytics.imported': 'Events imported',
}

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
  if (!Object.hasOwn(KINDS, filters.kind)) filters.kind = ''
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
