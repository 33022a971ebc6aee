import type { Goal } from './goals.ts'
import { figuresOf, measureInterleaved, ratioOf, throughputRatio } from './measure.ts'
import { createReaders, type Readers } from './readers.ts'
import type { Bench, Measurement, Row } from './row.ts'
import type { World } from './world.ts'

const NAME = 'daily read, 30 days'
const FASTIFY_GOAL: Goal = { least: 1.2, moonshot: 1.5 }
const FASTIFY_P99_GOAL: Goal = { most: 1.5 }
const EXPRESS_GOAL: Goal = { least: 2.5, moonshot: 4 }

/** Another server of the daily read, in floors/. */
interface Other {
  floor: string
  name: string
  /** What it does. */
  beside: string
  goal?: Goal
  p99Goal?: Goal
}

const OTHERS: Other[] = [
  {
    floor: 'fastify',
    name: 'Fastify',
    beside:
      'Fastify with @fastify/jwt and its cache, @fastify/rate-limit on Redis, its request log, one MGET of revocations, one Postgres statement a turn',
    goal: FASTIFY_GOAL,
    p99Goal: FASTIFY_P99_GOAL,
  },
  {
    floor: 'express',
    name: 'Express',
    beside: 'Express with express-oauth2-jwt-bearer, no revocation',
    goal: EXPRESS_GOAL,
  },
  {
    floor: 'fastify-lean',
    name: 'lean Fastify',
    beside: 'lean Fastify with @fastify/jwt and one Redis lookup of revocation',
  },
  {
    floor: 'koa',
    name: 'bare Koa',
    beside: 'bare Koa, the same bytes after one Redis command and one Postgres statement a turn',
  },
]

export const dailyRows: Row[] = [
  ...OTHERS.map(
    (other): Row => ({
      name: `daily read beside ${other.name}`,
      part: 'speed',
      measure: (bench) => measureBeside(bench, other),
    }),
  ),
  { name: 'daily read, local gateway', part: 'speed', measure: measureGateway },
]

async function measureBeside(
  bench: Bench,
  { floor, name, beside, goal, p99Goal }: Other,
): Promise<Measurement> {
  const world = await bench.world()
  const readers = await createReaders(world)
  const { requests } = readers
  const [ours, other] = await measureInterleaved(bench, [
    { name: NAME, server: world.api, requests },
    { name, server: await startFloor(bench, world, readers, floor), requests },
  ])
  const p99 = {
    what: `${NAME}: p99`,
    beside: `that of ${name}`,
    value: ratioOf(ours, other, ({ p99_ms }) => p99_ms),
    unit: 'ratio' as const,
  }
  return {
    findings: [
      { what: NAME, beside, ...(goal && { goal }), ...throughputRatio(ours, other) },
      ...(p99Goal ? [{ ...p99, goal: p99Goal }] : []),
    ],
    loads: [figuresOf(ours), figuresOf(other)],
  }
}

/** What the gateway of the local stack adds, on the core of the API. */
async function measureGateway(bench: Bench): Promise<Measurement> {
  const { auth, api, ...world } = await bench.world()
  const { requests } = await createReaders({ auth, api, ...world })
  const gateway = await bench.servers.startFloor('gateway', {
    BENCH_AUTH_URL: auth.url,
    BENCH_API_URL: api.url,
  })
  const both = { ...gateway, pids: [...gateway.pids, ...api.pids] }
  const [through, direct] = await measureInterleaved(bench, [
    { name: `${NAME}, through the local gateway`, server: both, requests },
    { name: NAME, server: api, requests },
  ])
  await gateway.stop()
  return {
    findings: [
      { what: through.subject.name, beside: 'the same without it', ...throughputRatio(through, direct) },
    ],
    loads: [figuresOf(through), figuresOf(direct)],
  }
}

export const startKoa = (bench: Bench, world: World, readers: Readers) =>
  startFloor(bench, world, readers, 'koa')

const startFloor = ({ servers }: Bench, { stores, issuer }: World, { answersFile }: Readers, floor: string) =>
  servers.startFloor(floor, {
    ...stores,
    BENCH_ISSUER: issuer,
    BENCH_AUDIENCE: issuer,
    BENCH_ANSWERS: answersFile,
  })
