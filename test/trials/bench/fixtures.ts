import type { Knex } from 'knex'
import { newClientId, newClientSecret, newVendorId } from '../../../apps/api/accounts/new-ids.ts'
import { hashSecret } from '../../../shared/oauth/ids.ts'
import { reviseDays } from '../../support/analytics.ts'
import type { BenchServers, Server } from './world.ts'
import { type HttpRequest, send } from './wrk.ts'

const COMPANIES_MAX = 500

export interface BenchClient {
  vendorId: string
  clientId: string
  clientSecret: string
}

/** Clients that may read, the same number for each company. Each company has figures for `days` days. */
export async function addClients(db: Knex, count: number, { days = 0 } = {}) {
  const vendorIds = Array.from({ length: Math.min(count, COMPANIES_MAX) }, newVendorId)
  await db.raw(
    `insert into companies (vendor_id, name, timezone, currency)
     select id, 'Bench', 'Europe/Berlin', 'EUR' from unnest(?::text[]) as id`,
    [vendorIds],
  )
  await db.raw(
    `insert into analytics_daily (vendor_id, date, impressions, clicks, orders, units_sold, revenue_minor,
       boost_spend_minor, last_event_at)
     select id, current_date - n, 40000 + n, 1200 + n, 60, 75, 412345 + n, 9900, now() - n * interval '1 day'
     from unnest(?::text[]) as id, generate_series(0, ?::int - 1) as n`,
    [vendorIds, days],
  )
  await reviseDays(db, ...vendorIds)
  const clients = Array.from({ length: count }, (_, i) => ({
    vendorId: vendorIds[Math.floor((i * vendorIds.length) / count)] as string,
    clientId: newClientId(),
    clientSecret: newClientSecret(),
  }))
  await db.raw(
    `insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
     select id, vendor, 'bench', array['analytics:read'], decode(hash, 'hex')
     from unnest(?::text[], ?::text[], ?::text[]) as c (id, vendor, hash)`,
    [
      clients.map(({ clientId }) => clientId),
      clients.map(({ vendorId }) => vendorId),
      clients.map(({ clientSecret }) => hashSecret(clientSecret).toString('hex')),
    ],
  )
  return clients as [BenchClient, ...BenchClient[]]
}

export const tokenRequest = ({ clientId, clientSecret }: BenchClient): HttpRequest => ({
  path: '/v1/oauth/token',
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope: 'analytics:read',
  }).toString(),
})

export async function obtainToken(auth: Server, client: BenchClient): Promise<string> {
  const response = await send(auth, tokenRequest(client))
  const { access_token } = (await response.json()) as { access_token?: string }
  if (!access_token) throw new Error(`no token: the authorization server answered ${response.status}`)
  return access_token
}

/** How many companies take turns: equal reads of one moment would share their work in the service. */
const READERS = 16
const STORED_DAYS = 400

/** Returns the daily reads of several companies. */
export async function createReaders({ db, auth }: BenchServers) {
  const clients = await addClients(db, READERS, { days: STORED_DAYS })
  return Promise.all(
    clients.map(async (client): Promise<HttpRequest> => {
      const token = await obtainToken(auth, client)
      return { path: `/v1/analytics/${client.vendorId}/daily`, headers: { Authorization: `Bearer ${token}` } }
    }),
  )
}
