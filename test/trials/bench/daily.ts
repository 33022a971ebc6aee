import type { Goal } from './goals.ts'
import { figuresOf, measureInterleaved, ratioOf, type Subject, throughputRatio } from './measure.ts'
import { createReaders, type Readers } from './readers.ts'
import type { Bench, Measurement, Row } from './row.ts'
import type { World } from './world.ts'

const NAME = 'daily read, 30 days'
const KOA = 'bare Koa, the same bytes after one Redis command and one Postgres statement a turn'
const KOA_GOAL: Goal = { least: 0.55, moonshot: 0.7 }
const KOA_P99_GOAL: Goal = { most: 3, moonshot: 2 }
const FASTIFY_GOAL: Goal = { least: 0.8, moonshot: 1 }
const EXPRESS_GOAL: Goal = { least: 2.5, moonshot: 4 }

export const dailyRows: Row[] = [
  { name: NAME, part: 'speed', measure: besideKoa },
  { name: 'daily read beside Fastify', part: 'speed', measure: besideFastify },
  { name: 'daily read beside Express', part: 'speed', measure: besideExpress },
]

async function besideKoa(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const readers = await createReaders(world)
  const { requests } = readers
  const [ours, koa] = await measureInterleaved(bench, [
    { name: NAME, server: world.api, requests },
    { name: 'bare Koa', server: await startKoa(bench, world, readers), requests },
  ])
  return {
    findings: [
      { what: NAME, beside: KOA, goal: KOA_GOAL, ...throughputRatio(ours, koa) },
      {
        what: `${NAME}: p99`,
        beside: "bare Koa's",
        goal: KOA_P99_GOAL,
        value: ratioOf(ours, koa, ({ p99_ms }) => p99_ms),
        unit: 'ratio',
      },
    ],
    loads: [figuresOf(ours), figuresOf(koa)],
  }
}

async function besideFastify(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const { requests, answersFile } = await createReaders(world)
  const server = await bench.servers.startFloor('fastify', {
    ...world.stores,
    ...issuedBy(world),
    BENCH_ANSWERS: answersFile,
  })
  return compare(bench, 'Fastify with @fastify/jwt and one Redis lookup of revocation', FASTIFY_GOAL, [
    { name: NAME, server: world.api, requests },
    { name: 'Fastify', server, requests },
  ])
}

async function besideExpress(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const { requests, answersFile } = await createReaders(world)
  const server = await bench.servers.startFloor('express', {
    ...issuedBy(world),
    BENCH_ANSWERS: answersFile,
  })
  return compare(bench, 'Express with express-oauth2-jwt-bearer, no revocation', EXPRESS_GOAL, [
    { name: NAME, server: world.api, requests },
    { name: 'Express', server, requests },
  ])
}

export const startKoa = ({ servers }: Bench, { stores }: World, { answersFile }: Readers) =>
  servers.startFloor('koa', { ...stores, BENCH_ANSWERS: answersFile })

const issuedBy = ({ issuer }: World) => ({ BENCH_ISSUER: issuer, BENCH_AUDIENCE: issuer })

async function compare(
  bench: Bench,
  beside: string,
  goal: Goal,
  subjects: [ours: Subject, other: Subject],
): Promise<Measurement> {
  const [ours, other] = await measureInterleaved(bench, subjects)
  return {
    findings: [{ what: ours.subject.name, beside, goal, ...throughputRatio(ours, other) }],
    loads: [figuresOf(ours), figuresOf(other)],
  }
}
