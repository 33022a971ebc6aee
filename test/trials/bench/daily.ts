import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createReaders } from './fixtures.ts'
import { measureBeside } from './measure.ts'
import type { Bench, Finding } from './row.ts'
import { type HttpRequest, send } from './wrk.ts'

export async function dailyBesideFastify(bench: Bench): Promise<Finding[]> {
  const requests = await createReaders(bench)
  const answers = await Promise.all(requests.map((request) => answerTo(bench, request)))
  const answersFile = join(bench.directory, 'answers.json')
  await writeFile(answersFile, JSON.stringify(answers))
  const server = await bench.startFloor('fastify', { BENCH_ANSWERS: answersFile })
  const what = 'daily read, 30 days'
  const { throughput, p99 } = await measureBeside(
    bench,
    { name: what, server: bench.api, requests },
    { name: 'Fastify', server, requests },
  )
  const beside =
    'Fastify with @fastify/jwt and its cache, @fastify/rate-limit on Redis, its request log, one MGET of revocations, one Postgres statement a turn'
  return [
    { what, beside, value: throughput, unit: 'ratio', goal: { least: 1 } },
    { what: `${what}: p99`, beside: 'that of Fastify', value: p99, unit: 'ratio', goal: { most: 2 } },
  ]
}

/** The path of a request and the answer that floors are to send. */
async function answerTo({ api }: Bench, request: HttpRequest) {
  const response = await send(api, request)
  const body = await response.text()
  const etag = response.headers.get('etag')
  if (!response.ok || !etag) throw new Error(`the daily read answered ${response.status}: ${body}`)
  return [request.path, { body, etag }]
}
