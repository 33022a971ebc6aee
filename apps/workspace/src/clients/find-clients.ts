import type { OAuthClient } from '../api/contract.ts'
import { finds } from '../ui/find.ts'
import { expiresSoon, SOON_DAYS } from './expiry.ts'

/** Which clients a list shows. */
export const VIEWS = [
  { view: 'active', label: 'Active', has: (client: OAuthClient) => client.status === 'Active' },
  {
    view: 'unused',
    label: 'Never used',
    has: (client: OAuthClient) => client.status === 'Active' && client.lastUsedAt === null,
  },
  { view: 'failing', label: 'Failing', has: (client: OAuthClient) => client.failing !== null },
  {
    view: 'expiring',
    label: `Expires within ${SOON_DAYS} days`,
    has: (client: OAuthClient) => client.status === 'Active' && expiresSoon(client, new Date()),
  },
  { view: 'revoked', label: 'Revoked', has: (client: OAuthClient) => client.status === 'Revoked' },
  { view: 'all', label: 'All', has: () => true },
] as const

export type View = (typeof VIEWS)[number]['view']

/** Each has the order that one wants first; reversed, the other. */
export const ORDERS = {
  added: (a: OAuthClient, b: OAuthClient) => compare(b.createdAt, a.createdAt),
  used: (a: OAuthClient, b: OAuthClient) => compare(b.lastUsedAt ?? '', a.lastUsedAt ?? ''),
  // What never expires comes last.
  expires: (a: OAuthClient, b: OAuthClient) => compare(a.expiresAt ?? '~', b.expiresAt ?? '~'),
  name: (a: OAuthClient, b: OAuthClient) => a.name.localeCompare(b.name, 'en', { numeric: true }),
} as const

export type Order = keyof typeof ORDERS

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** What the address asks the list for. */
export interface ClientQuery {
  view: View
  typed: string
  order: Order
  reversed: boolean
}

export function queryIn(search: URLSearchParams): ClientQuery {
  const sort = search.get('sort') ?? ''
  const order = sort.replace('-', '')
  return {
    view: VIEWS.find(({ view }) => view === search.get('show'))?.view ?? 'active',
    typed: search.get('q') ?? '',
    order: Object.hasOwn(ORDERS, order) ? (order as Order) : 'added',
    reversed: sort.startsWith('-'),
  }
}

/** The address that asks for it; what is usual is left out. */
export function searchFor({ view, typed, order, reversed }: ClientQuery): URLSearchParams {
  return new URLSearchParams({
    ...(view !== 'active' && { show: view }),
    ...(typed && { q: typed }),
    ...((order !== 'added' || reversed) && { sort: `${reversed ? '-' : ''}${order}` }),
  })
}

export interface Found {
  clients: OAuthClient[]
  /** How many of what was typed each view has. */
  counts: Record<View, number>
}

export function findClients(
  all: readonly OAuthClient[],
  { view, typed, order, reversed }: ClientQuery,
): Found {
  const matching = all.filter(({ name, clientId }) => finds(typed, name, clientId))
  const counts = Object.fromEntries(VIEWS.map(({ view: each, has }) => [each, matching.filter(has).length]))
  const shown = matching.filter((client) => VIEWS.find((each) => each.view === view)?.has(client))
  shown.sort(ORDERS[order])
  if (reversed) shown.reverse()
  return { clients: shown, counts: counts as Found['counts'] }
}
