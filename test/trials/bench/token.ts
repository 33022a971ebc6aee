import { addClientsOfMany, analyze, type BenchClient, tokenRequest } from './fixtures.ts'
import type { Goal } from './goals.ts'
import { figuresOf, measureInterleaved, ratioOf, throughputRatio } from './measure.ts'
import type { Bench, Measurement, Row } from './row.ts'
import { scaled, spread } from './statistics.ts'

const CLIENTS = 10_000
const FEW_CLIENTS = 50
/** Enough for a second of each round, those included that are repeated. */
const UNMET_CLIENTS_A_ROUND = 20_000
const PROCESSES = 2

const FLOOR_GOAL: Goal = { least: 0.75, moonshot: 0.85 }
const P99_GOAL: Goal = { most: 2, moonshot: 1.5 }
const FEW_GOAL: Goal = { least: 0.9, most: 1.1 }
const STOCK_GOAL: Goal = { least: 2, moonshot: 2.3 }
const PROCESSES_GOAL: Goal = { least: 1.6, moonshot: 1.8 }
const LOG_GOAL: Goal = { least: 0.92 }
const UNMET_GOAL: Goal = { least: 0.5 }
const UNMET_P99_GOAL: Goal = { most: 30 }

export const tokenRows: Row[] = [
  { name: 'token endpoint, 10,000 clients', part: 'speed', measure: besideFloor },
  { name: 'token endpoint, 50 clients', part: 'speed', measure: fewBesideMany },
  { name: 'token endpoint, 2 processes', part: 'speed', measure: twoProcesses },
  { name: 'token endpoint, log', part: 'speed', measure: withoutLog },
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
    loads: [figuresOf(ours), figuresOf(floor)],
  }
}

async function fewBesideMany(bench: Bench): Promise<Measurement> {
  const { db, auth } = await bench.world()
  const requests = requestsOf(await addClientsOfMany(db, CLIENTS))
  const [few, many] = await measureInterleaved(bench, [
    { name: 'token endpoint, 50 clients', server: auth, requests: requests.slice(0, FEW_CLIENTS) },
    { name: 'token endpoint, 10,000 clients', server: auth, requests },
  ])
  const finding = { what: few.subject.name, beside: 'the same with 10,000', goal: FEW_GOAL }
  return {
    findings: [{ ...finding, ...throughputRatio(few, many) }],
    loads: [figuresOf(few), figuresOf(many)],
  }
}

/**
 * On a machine of two cores the generator and the stores take their part of what two processes could use, so the
 * requests a second cannot double, whatever the service does. What counts is the work that each CPU second of a
 * process still does when there are two: times two, it is how much more two cores of their own would do.
 */
async function twoProcesses(bench: Bench): Promise<Measurement> {
  const { db, auth, startService } = await bench.world()
  const requests = requestsOf(await addClientsOfMany(db, CLIENTS))
  const cluster = await startService('auth', { processes: PROCESSES, place: 'anywhere' })
  const [two, one] = await measureInterleaved(bench, [
    { name: 'token endpoint, 2 processes', server: cluster, requests },
    { name: 'token endpoint, 1 process', server: auth, requests },
  ])
  await cluster.stop()
  return {
    findings: [
      {
        what: 'token endpoint, 2 processes, by CPU second',
        beside: '1 process',
        goal: PROCESSES_GOAL,
        value: scaled(
          ratioOf(two, one, ({ perCpuSecond }) => perCpuSecond),
          PROCESSES,
        ),
        unit: 'ratio',
      },
      {
        what: 'token endpoint, 2 processes, all on 2 cores',
        beside: '1 process',
        ...throughputRatio(two, one),
      },
    ],
    loads: [figuresOf(two), figuresOf(one)],
  }
}

/** What the audit line of each token costs. */
async function withoutLog(bench: Bench): Promise<Measurement> {
  const { db, auth, startService } = await bench.world()
  const requests = requestsOf(await addClientsOfMany(db, CLIENTS))
  const silent = await startService('auth', { logLevel: 'error' })
  const [logged, unlogged] = await measureInterleaved(bench, [
    { name: 'token endpoint, 10,000 clients', server: auth, requests },
    { name: 'token endpoint, without its log', server: silent, requests },
  ])
  await silent.stop()
  return {
    findings: [
      {
        what: logged.subject.name,
        beside: 'the same without its log',
        goal: LOG_GOAL,
        ...throughputRatio(logged, unlogged),
      },
    ],
    loads: [figuresOf(logged), figuresOf(unlogged)],
  }
}

/** A client's record is read from Postgres, and judged by oidc-provider, when a process meets it. */
async function unmetBesideMet(bench: Bench): Promise<Measurement> {
  const { db, auth } = await bench.world()
  const { rounds, seconds } = bench.conditions
  const strangers = requestsOf(await addClientsOfMany(db, UNMET_CLIENTS_A_ROUND * rounds * seconds))
  const known = requestsOf(await addClientsOfMany(db, FEW_CLIENTS))
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
    loads: [figuresOf(unmet), figuresOf(met)],
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
    loads: [figuresOf(ours), figuresOf(theirs)],
  }
}
