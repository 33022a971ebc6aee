import type { OAuthClient } from '../api/contract.ts'
import { finds } from '../ui/find.ts'
import type { SearchShape } from '../ui/search.ts'
import { daysFrom, expiresSoon, hasExpired, SOON_DAYS } from './expiry.ts'

const UNUSED_DAYS = 30

const isActive = ({ status }: OAuthClient): boolean => status === 'Active'

/** A client of which uses may be missing may have been used until then. */
const knownUse = ({ lastUsedAt, usesMissingBefore, createdAt }: OAuthClient): Date =>
  new Date(usesMissingBefore ?? lastUsedAt ?? createdAt)

/** What needs a person, the most urgent first. `about` is said of one client and of several. */
export const TROUBLES = [
  {
    view: 'found',
    label: 'Secret found',
    about: ['secret was found', 'secrets were found'],
    has: (client: OAuthClient) => isActive(client) && client.secretFoundAt !== null,
  },
  {
    view: 'failing',
    label: 'Failing',
    about: ['client is failing', 'clients are failing'],
    has: (client: OAuthClient) => isActive(client) && client.failing !== null,
  },
  {
    view: 'asking',
    label: 'Revoked, still sending requests',
    about: ['revoked client still sends requests', 'revoked clients still send requests'],
    has: (client: OAuthClient) => !isActive(client) && client.failing !== null,
  },
  {
    view: 'expiring',
    label: `Expires within ${SOON_DAYS} days`,
    about: [`client expires within ${SOON_DAYS} days`, `clients expire within ${SOON_DAYS} days`],
    has: (client: OAuthClient, now: Date) =>
      isActive(client) && expiresSoon(client, now) && !hasExpired(client, now),
  },
  {
    view: 'unused',
    label: `Unused for ${UNUSED_DAYS} days`,
    about: [`client unused for ${UNUSED_DAYS} days`, `clients unused for ${UNUSED_DAYS} days`],
    has: (client: OAuthClient, now: Date) =>
      isActive(client) && daysFrom(knownUse(client), UNUSED_DAYS) <= now,
  },
] as const

/** Which clients a list shows. */
export const VIEWS = [
  { view: 'active', label: 'Active', has: isActive },
  ...TROUBLES,
  { view: 'revoked', label: 'Revoked', has: (client: OAuthClient) => !isActive(client) },
  { view: 'all', label: 'All', has: () => true },
] as const

export type View = (typeof VIEWS)[number]['view']

/** Whether more than half of the Active clients have an expiry. */
export function mostExpire(clients: readonly OAuthClient[]): boolean {
  const active = clients.filter(isActive)
  return active.filter(({ expiresAt }) => expiresAt !== null).length > active.length / 2
}

/** Whether refusals could be read, which tell that a client fails or still asks. */
export const refusalsKnown = (clients: readonly OAuthClient[]): boolean =>
  clients.every(({ failingKnown }) => failingKnown)

/** Each sorts in the order that is wanted first. */
const ORDERS = {
  added: (a: OAuthClient, b: OAuthClient) => compare(b.createdAt, a.createdAt),
  used: (a: OAuthClient, b: OAuthClient) => compare(b.lastUsedAt ?? '', a.lastUsedAt ?? ''),
  // What never expires comes last.
  expires: (a: OAuthClient, b: OAuthClient) => compare(a.expiresAt ?? '~', b.expiresAt ?? '~'),
  name: (a: OAuthClient, b: OAuthClient) => a.name.localeCompare(b.name, 'en', { numeric: true }),
} as const

export type Order = keyof typeof ORDERS

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

export interface ClientFilter extends Record<string, string> {
  show: View
  /** What was typed to search for. */
  q: string
  /** The id of who created the clients. Empty: anyone. */
  createdBy: string
  /** An order, or one that is turned round. */
  sort: Order | `-${Order}`
}

/** What the address asks the list for. */
export const CLIENT_FILTER: SearchShape<ClientFilter> = {
  defaults: { show: 'active', q: '', createdBy: '', sort: 'added' },
  accepts: {
    show: (text) => VIEWS.some(({ view }) => view === text),
    sort: (text) => Object.hasOwn(ORDERS, text.replace('-', '')),
  },
}

export const orderOf = (sort: ClientFilter['sort']) => sort.replace('-', '') as Order

export interface Found {
  clients: OAuthClient[]
  /** How many of what was typed each view has. */
  counts: Record<View, number>
}

export function searchClients(
  all: readonly OAuthClient[],
  { show, q, createdBy, sort }: ClientFilter,
): Found {
  const now = new Date()
  const matching = all.filter(
    (client) =>
      finds(q, client.name, client.clientId) && (!createdBy || client.createdBy.userId === createdBy),
  )
  const counts = VIEWS.map((view) => [view.view, matching.filter((client) => view.has(client, now)).length])
  const shown = VIEWS.find(({ view }) => view === show)
  const clients = matching.filter((client) => shown?.has(client, now))
  clients.sort(ORDERS[orderOf(sort)])
  if (sort.startsWith('-')) clients.reverse()
  return { clients, counts: Object.fromEntries(counts) }
}
