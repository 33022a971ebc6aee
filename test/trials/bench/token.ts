import { addClientsOfMany, analyze, type BenchClient, tokenRequest } from './fixtures.ts'
import { compared, measureBeside, measureInterleaved } from './measure.ts'
import type { Bench, Measurement, Row } from './row.ts'
import { spread } from './statistics.ts'

const CLIENTS = 10_000
const MET_CLIENTS = 50
/** Enough for each round, those included that are repeated. */
const UNMET_CLIENTS_A_ROUND = 20_000

export const tokenRows: Row[] = [
  { name: 'token endpoint, 10,000 clients', part: 'speed', measure: besideFloor },
  { name: 'token endpoint, unmet clients', part: 'speed', measure: unmetBesideMet },
  { name: 'token endpoint beside oidc-provider', part: 'speed', measure: besideProvider },
]

const requestsOf = (clients: BenchClient[]) => clients.map((client) => tokenRequest(client))

async function besideFloor(bench: Bench): Promise<Measurement> {
  const { db, auth } = await bench.world()
  const requests = requestsOf(await addClientsOfMany(db, CLIENTS))
  const ours = { name: 'token endpoint, 10,000 clients', server: auth, requests }
  const floor = { name: 'floor', server: await bench.servers.startFloor('token'), requests }
  return measureBeside(bench, [ours, floor], {
    beside: 'bare node:http: form, SHA-256, ES256',
    goal: { least: 0.8 },
    p99: { beside: "the floor's", goal: { most: 2 } },
  })
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
  const { findings, loads } = compared([unmet, met], { beside: 'clients that it has', goal: { least: 0.5 } })
  const p99 = spread(unmet.samples.map(({ p99_ms }) => p99_ms))
  findings.push({ what: `${unmet.subject.name}: p99`, goal: { most: 30 }, value: p99, unit: 'ms' })
  return { findings, loads }
}

async function besideProvider(bench: Bench): Promise<Measurement> {
  const { db, auth } = await bench.world()
  const [client] = (await addClientsOfMany(db, 1)) as [BenchClient]
  const stock = await bench.servers.startFloor('provider', {
    BENCH_CLIENT_ID: client.clientId,
    BENCH_CLIENT_SECRET: client.clientSecret,
  })
  const ours = { name: 'token endpoint, 1 client', server: auth, requests: [tokenRequest(client)] }
  const theirs = {
    name: 'oidc-provider',
    server: stock,
    requests: [tokenRequest(client, { path: '/token' })],
  }
  const beside = 'oidc-provider as it comes, in memory'
  return measureBeside(bench, [ours, theirs], { beside, goal: { least: 2 } })
}
