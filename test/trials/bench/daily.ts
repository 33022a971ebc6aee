import { measureBeside, type Subject } from './measure.ts'
import { createReaders } from './readers.ts'
import type { Bench, Measurement, Row } from './row.ts'

export const dailyRows: Row[] = [
  { name: 'daily read beside Fastify', part: 'speed', measure: besideFastify },
  { name: 'daily read beside bare Koa', part: 'speed', measure: besideKoa },
]

async function besideFastify(bench: Bench): Promise<Measurement> {
  return measureBeside(bench, await reads(bench, 'Fastify', 'fastify'), {
    beside:
      'Fastify with @fastify/jwt and its cache, @fastify/rate-limit on Redis, its request log, one MGET of revocations, one Postgres statement a turn',
    goal: { least: 1 },
    p99: { beside: 'that of Fastify', goal: { most: 2 } },
  })
}

async function besideKoa(bench: Bench): Promise<Measurement> {
  const beside = 'bare Koa, the same bytes after one Redis command and one Postgres statement a turn'
  return measureBeside(bench, await reads(bench, 'bare Koa', 'koa'), { beside, goal: { least: 0.4 } })
}

/** The service's reads, and the same of another server in floors/. */
async function reads(bench: Bench, name: string, floor: string): Promise<[Subject, Subject]> {
  const world = await bench.world()
  const { requests, answersFile } = await createReaders(world)
  const server = await bench.servers.startFloor(floor, {
    ...world.stores,
    BENCH_ISSUER: world.issuer,
    BENCH_AUDIENCE: world.issuer,
    BENCH_ANSWERS: answersFile,
  })
  return [
    { name: 'daily read, 30 days', server: world.api, requests },
    { name, server, requests },
  ]
}
