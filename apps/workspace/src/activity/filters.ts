import type { ActivityFilter } from '../api/activity.ts'
import { isDay } from '../api/time.ts'

/** The kinds of entries, as they are called in the filter. */
export const KINDS: Readonly<Record<string, string>> = {
  'client.created': 'Client created',
  'client.renamed': 'Client renamed',
  'client.revoked': 'Client revoked',
  'client.revocation_armed': 'Revocation armed',
  'client.revocation_disarmed': 'Revocation disarmed',
  'callback.saved': 'Callback URL saved',
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

/** What the address asks for; an empty text is any. `from` and `to` are days of this browser, both included. */
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
  from: /^\d{4}-\d\d-\d\d$/,
  to: /^\d{4}-\d\d-\d\d$/,
}

/** What cannot be meant is left out, since an address may be mistyped. */
export function filtersIn(search: URLSearchParams): Filters {
  const filters = { ...NO_FILTERS }
  for (const name of NAMES) {
    const text = search.get(name) ?? ''
    if (SHAPES[name].test(text)) filters[name] = text
  }
  if (!Object.hasOwn(KINDS, filters.kind)) filters.kind = ''
  if (!midnight(filters.from)) filters.from = ''
  if (!midnight(filters.to)) filters.to = ''
  return filters
}

export const searchFor = (filters: Filters): URLSearchParams =>
  new URLSearchParams(NAMES.filter((name) => filters[name]).map((name) => [name, filters[name]]))

export function filterOf({ person, kind, client, from, to }: Filters): ActivityFilter {
  const begin = midnight(from)
  const end = midnight(to, 1)
  return {
    ...(person && { userId: person }),
    ...(kind && { action: kind }),
    ...(client && { clientId: client }),
    ...(begin && { from: begin.toISOString() }),
    ...(end && { to: end.toISOString() }),
  }
}

/** When a day begins here. @param later counts days from it. */
function midnight(day: string, later = 0): Date | undefined {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number)
  return year >= 1000 && isDay(day) ? new Date(year, month - 1, date + later) : undefined
}
