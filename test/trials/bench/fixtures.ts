import { randomUUID } from 'node:crypto'
import type { JWK } from 'jose'
import type { Knex } from 'knex'
import { hashSecret } from '../../../shared/oauth/ids.ts'
import { newClientId, newClientSecret } from '../../../shared/oauth/new-ids.ts'
import { type HttpRequest, send } from './requests.ts'
import type { Server } from './servers.ts'

export const TOKEN_PATH = '/v1/oauth/token'
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }
const CLIENTS_AT_ONCE = 5_000

export interface BenchClient {
  vendorId: string
  clientId: string
  clientSecret: string
}

/** Companies with figures for each of their last `days` days. */
export async function addCompanies(db: Knex, count: number, days: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => `ven_${randomUUID().replaceAll('-', '')}`)
  await db.raw(
    `insert into companies (vendor_id, name, timezone, currency)
     select id, 'Bench', 'Europe/Berlin', 'EUR' from unnest(?::text[]) as id`,
    [ids],
  )
  await db.raw(
    `insert into analytics_daily (vendor_id, date, impressions, clicks, orders, units_sold, revenue_minor, boost_spend_minor, last_event_at)
     select id, current_date - n, 40000 + n, 1200 + n, 60, 75, 412345 + n, 9900, now() - n * interval '1 day'
     from unnest(?::text[]) as id, generate_series(0, ?::int - 1) as n`,
    [ids, days],
  )
  return ids
}

/** Clients with one scope, the same number for each company. */
export async function addClients(
  db: Knex,
  vendorIds: string[],
  each: number,
  scope = 'analytics:read',
): Promise<BenchClient[]> {
  const clients = vendorIds.flatMap((vendorId) =>
    Array.from({ length: each }, () => ({
      vendorId,
      clientId: newClientId(),
      clientSecret: newClientSecret(),
    })),
  )
  for (let from = 0; from < clients.length; from += CLIENTS_AT_ONCE) {
    const some = clients.slice(from, from + CLIENTS_AT_ONCE)
    await db.raw(
      `insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
       select id, vendor, 'bench', array[?], decode(hash, 'hex')
       from unnest(?::text[], ?::text[], ?::text[]) as c (id, vendor, hash)`,
      [
        scope,
        some.map((c) => c.clientId),
        some.map((c) => c.vendorId),
        some.map((c) => hashSecret(c.clientSecret).toString('hex')),
      ],
    )
  }
  return clients
}

/** Clients of one company that all have this key. Returns their ids. */
export async function addKeyClients(
  db: Knex,
  count: number,
  key: JWK,
  thumbprint: string,
): Promise<string[]> {
  const [vendorId] = await addCompanies(db, 1, 1)
  const ids = Array.from({ length: count }, newClientId)
  await db.raw(
    `insert into oauth_clients (client_id, vendor_id, name, scopes, public_key, key_thumbprint)
     select id, ?, 'bench', array['analytics:read'], ?::jsonb, ? from unnest(?::text[]) as id`,
    [vendorId as string, JSON.stringify(key), thumbprint, ids],
  )
  return ids
}

/** So many clients, of a few hundred companies. */
export async function addClientsOfMany(db: Knex, count: number): Promise<BenchClient[]> {
  const companies = Math.min(count, 500)
  return addClients(db, await addCompanies(db, companies, 1), Math.ceil(count / companies))
}

/** Autovacuum would do it within a minute. */
export const analyze = (db: Knex): Promise<unknown> => db.raw('analyze')

export function tokenRequest(
  { clientId, clientSecret }: Omit<BenchClient, 'vendorId'>,
  { path = TOKEN_PATH, scope = 'analytics:read' } = {},
): HttpRequest {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    ...(scope && { scope }),
  }).toString()
  return { method: 'POST', path, headers: FORM, body }
}

export async function requestToken(
  auth: Server,
  client: BenchClient,
  scope = 'analytics:read',
): Promise<string> {
  const response = await send(auth, tokenRequest(client, { scope }))
  const { access_token } = (await response.json()) as { access_token?: string }
  if (!access_token) throw new Error(`no token: the authorization server answered ${response.status}`)
  return access_token
}
