import type { Goal } from './goals.ts'
import { measureInterleaved, ratioOf, throughputRatio } from './measure.ts'
import { createReaders, type Readers } from './readers.ts'
import type { Bench, Measurement, Row } from './row.ts'
import type { World } from './world.ts'

const NAME = 'daily read, 30 days'
const FASTIFY_GOAL: Goal = { least: 1 }
const FASTIFY_P99_GOAL: Goal = { most: 2 }
const KOA_GOAL: Goal = { least: 0.4 }

/** Another server of the daily read, in floors/. */
interface Other {
  floor: string
  name: string
  /** What it does. */
  beside: string
  goal: Goal
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
    floor: 'koa',
    name: 'bare Koa',
    beside: 'bare Koa, the same bytes after one Redis command and one Postgres statement a turn',
    goal: KOA_GOAL,
  },
]

export const dailyRows: Row[] = OTHERS.map((other) => ({
  name: `daily read beside ${other.name}`,
  part: 'speed',
  measure: (bench) => measureBeside(bench, other),
}))

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
      { what: NAME, beside, goal, ...throughputRatio(ours, other) },
      ...(p99Goal ? [{ ...p99, goal: p99Goal }] : []),
    ],
    loads: [ours, other],
  }
}

const startFloor = ({ servers }: Bench, { stores, issuer }: World, { answersFile }: Readers, floor: string) =>
  servers.startFloor(floor, {
    ...stores,
    BENCH_ISSUER: issuer,
    BENCH_AUDIENCE: issuer,
    BENCH_ANSWERS: answersFile,
  })
