import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Subject } from './comparison.ts'
import { addClients, type BenchClient, type Server, tokenBodies, type World } from './world.ts'

/** Two things measured in turn, and what the first is to reach of the second. */
export interface Comparison {
  what: string
  beside: string
  goal: string
  /** Whether a ratio (the first's requests a second over the second's) meets the goal. */
  meets(ratio: number): boolean
  subjects: [ours: Subject, other: Subject]
}

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }
const TOKEN_PATH = '/v1/oauth/token'
const CLIENTS = 10_000
const FEW_CLIENTS = 50
const COMPANY = 'ven_bench'

const atLeast = (goal: number) => (ratio: number) => ratio >= goal
const tokenLoad = (server: Server, bodies: string) => ({
  url: `${server.url}${TOKEN_PATH}`,
  method: 'POST' as const,
  headers: FORM,
  bodies,
})

/** The token endpoint beside its floor, beside itself with few clients, and beside oidc-provider as it comes. */
export async function tokenComparisons(world: World, auth: Server): Promise<Comparison[]> {
  const clients = await addClients(world.db, CLIENTS)
  const many = await tokenBodies(world.directory, 'many', clients)
  const few = await tokenBodies(world.directory, 'few', clients.slice(0, FEW_CLIENTS))
  const one = await tokenBodies(world.directory, 'one', clients.slice(0, 1))
  const { clientId, clientSecret } = clients[0] as BenchClient
  const floor = await world.startFloor('token', {})
  const credentials = { BENCH_CLIENT_ID: clientId, BENCH_CLIENT_SECRET: clientSecret }
  const stock = await world.startFloor('provider', credentials)
  const ours: Subject = { name: 'token, 10,000 clients', server: auth, load: tokenLoad(auth, many) }
  return [
    {
      what: 'token endpoint, 10,000 clients',
      beside: 'bare node:http: form, SHA-256, ES256',
      goal: '≥ 0.33',
      meets: atLeast(0.33),
      subjects: [ours, { name: 'floor', server: floor, load: tokenLoad(floor, many) }],
    },
    {
      what: 'token endpoint, 50 clients',
      beside: 'the same with 10,000',
      goal: '0.9 to 1.1',
      meets: (ratio) => ratio >= 0.9 && ratio <= 1.1,
      subjects: [{ name: 'token, 50 clients', server: auth, load: tokenLoad(auth, few) }, ours],
    },
    {
      what: 'token endpoint, 1 client',
      beside: 'stock oidc-provider, in memory, 1 client',
      goal: '≥ 1.7',
      meets: atLeast(1.7),
      subjects: [
        { name: 'token, 1 client', server: auth, load: tokenLoad(auth, one) },
        {
          name: 'stock oidc-provider',
          server: stock,
          load: { ...tokenLoad(stock, one), url: `${stock.url}/token` },
        },
      ],
    },
  ]
}

/** The daily read beside a Koa that sends the same bytes. */
export async function dailyComparisons(world: World, auth: Server, api: Server): Promise<Comparison[]> {
  await addDays(world, COMPANY, 400)
  const [client] = await addClients(world.db, 1)
  const token = await requestToken(auth, client as BenchClient)
  const url = `${api.url}/v1/analytics/${COMPANY}/daily`
  const authorization = { Authorization: `Bearer ${token}` }
  const response = await fetch(url, { headers: authorization })
  const body = await response.text()
  if (!response.ok) throw new Error(`the daily read answered ${response.status}: ${body}`)
  const etag = response.headers.get('etag') ?? ''
  const file = join(world.directory, 'daily.json')
  await writeFile(file, body)
  const koa = await world.startFloor('koa', { BENCH_BODY_FILE: file, BENCH_ETAG: etag })
  const read = (server: Server, headers: Record<string, string>) => ({
    url: url.replace(api.url, server.url),
    method: 'GET' as const,
    headers,
  })
  const fresh = { ...authorization, 'If-None-Match': etag }
  const ours: Subject = { name: 'daily read', server: api, load: read(api, authorization) }
  return [
    {
      what: 'daily read, 30 days',
      beside: 'bare Koa, the same bytes',
      goal: '≥ 0.5',
      meets: atLeast(0.5),
      subjects: [ours, { name: 'bare Koa', server: koa, load: read(koa, {}) }],
    },
    {
      what: 'daily read, If-None-Match',
      beside: 'bare Koa, 304',
      goal: '≥ 0.5',
      meets: atLeast(0.5),
      subjects: [
        { name: 'daily read, 304', server: api, load: read(api, fresh) },
        { name: 'bare Koa, 304', server: koa, load: read(koa, { 'If-None-Match': etag }) },
      ],
    },
  ]
}

/** Figures for the last `days` days. */
export async function addDays(world: World, vendorId: string, days: number): Promise<void> {
  await world.db.raw(
    `insert into analytics_daily (vendor_id, date, impressions, clicks, orders, units_sold, revenue_minor, boost_spend_minor, last_event_at)
     select ?, current_date - n, 40000 + n, 1200 + n, 60, 75, 412345 + n, 9900, now() - n * interval '1 day'
     from generate_series(0, ?) as n on conflict do nothing`,
    [vendorId, days - 1],
  )
}

export async function requestToken(auth: Server, { clientId, clientSecret }: BenchClient): Promise<string> {
  const response = await fetch(`${auth.url}${TOKEN_PATH}`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: 'analytics:read',
    }),
  })
  const { access_token } = (await response.json()) as { access_token?: string }
  if (!access_token) throw new Error(`no token: the authorization server answered ${response.status}`)
  return access_token
}
