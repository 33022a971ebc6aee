import { addClientsOfMany, analyze, type BenchClient, tokenRequest } from './fixtures.ts'
import type { Goal } from './goals.ts'
import { measureInterleaved, ratioOf, throughputRatio } from './measure.ts'
import type { Bench, Measurement, Row } from './row.ts'
import { spread } from './statistics.ts'

const CLIENTS = 10_000
const MET_CLIENTS = 50
/** Enough for each round, those included that are repeated. */
const UNMET_CLIENTS_A_ROUND = 20_000

const FLOOR_GOAL: Goal = { least: 0.8 }
const P99_GOAL: Goal = { most: 2 }
const STOCK_GOAL: Goal = { least: 2 }
const UNMET_GOAL: Goal = { least: 0.5 }
const UNMET_P99_GOAL: Goal = { most: 30 }

export const tokenRows: Row[] = [
  { name: 'token endpoint, 10,000 clients', part: 'speed', measure: besideFloor },
  { name: 'token endpoint, unmet clients', part: 'speed', measure: unmetBesideMet },
  { name: 'token endpoint beside oidc-provider', part: 'speed', measure: besideProvider },
]

const requestsOf = (clients: BenchClient[]) => clients.map((client) => tokenRequest(client))

async function besideFloor(bench: Bench): Promise<Measurement> {
  const { db, auth } = await bench.world()
  const requests = requestsOf(await addClientsOfMany(db, CLIENTS))
  const [ours, floor] = await measureInterleaved(bench, [
    { name: 'token endpoint, 10,000 clients', server: auth, requests },
    { name: 'floor', server: await bench.servers.startFloor('token'), requests },
  ])
  const what = ours.subject.name
  const beside = 'bare node:http: form, SHA-256, ES256'
  return {
    findings: [
      { what, beside, goal: FLOOR_GOAL, ...throughputRatio(ours, floor) },
      {
        what: `${what}: p99`,
        beside: "the floor's",
        goal: P99_GOAL,
        value: ratioOf(ours, floor, ({ p99_ms }) => p99_ms),
        unit: 'ratio',
      },
    ],
    loads: [ours, floor],
  }
}

/** A client's record is read from Postgres, and judged by oidc-provider, when a process meets it. */
async function unmetBesideMet(bench: Bench): Promise<Measurement> {
  const { db, auth } = await bench.world()
  const strangers = requestsOf(await addClientsOfMany(db, UNMET_CLIENTS_A_ROUND * bench.rounds))
  const known = requestsOf(await addClientsOfMany(db, MET_CLIENTS))
  await analyze(db)
  const [unmet, met] = await measureInterleaved(bench, [
    {
      name: 'token endpoint, clients that the process has not met',
      server: auth,
      requests: strangers,
      unmet: true,
    },
    { name: 'token endpoint, clients that it has met', server: auth, requests: known },
  ])
  const what = unmet.subject.name
  return {
    findings: [
      { what, beside: 'clients that it has', goal: UNMET_GOAL, ...throughputRatio(unmet, met) },
      {
        what: `${what}: p99`,
        goal: UNMET_P99_GOAL,
        value: spread(unmet.samples.map(({ p99_ms }) => p99_ms)),
        unit: 'ms',
      },
    ],
    loads: [unmet, met],
  }
}

async function besideProvider(bench: Bench): Promise<Measurement> {
  const { db, auth } = await bench.world()
  const [client] = (await addClientsOfMany(db, 1)) as [BenchClient]
  const stock = await bench.servers.startFloor('provider', {
    BENCH_CLIENT_ID: client.clientId,
    BENCH_CLIENT_SECRET: client.clientSecret,
  })
  const [ours, theirs] = await measureInterleaved(bench, [
    { name: 'token endpoint, 1 client', server: auth, requests: [tokenRequest(client)] },
    { name: 'oidc-provider', server: stock, requests: [tokenRequest(client, { path: '/token' })] },
  ])
  const finding = {
    what: ours.subject.name,
    beside: 'oidc-provider as it comes, in memory',
    goal: STOCK_GOAL,
  }
  return {
    findings: [{ ...finding, ...throughputRatio(ours, theirs) }],
    loads: [ours, theirs],
  }
}
