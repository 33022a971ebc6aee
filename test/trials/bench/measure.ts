import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { cpuSeconds } from './cores.ts'
import type { Bench } from './row.ts'
import { type Spread, spread } from './statistics.ts'
import type { Server } from './world.ts'
import { type Generated, generate, type HttpRequest, send, writeRequests } from './wrk.ts'

/**
 * A process gets faster for some seconds, while Node compiles what it runs and while it meets new clients. So
 * it is loaded until it has worked this long since its start and has been sent every request.
 */
const WARM_AFTER_CPU_SECONDS = 10
const WARM_UP_ROUNDS_MIN = 2
const WARM_UP_LIMIT_MS = 120_000
/** Rounds that count, after warming up. */
const ROUNDS = 10
/** A round in which others used more of the server's core than this is thrown away and repeated. */
const OTHERS_MAX = 0.05
const ATTEMPTS_MAX = 3 * ROUNDS

/** One load, and the server whose CPU time counts. */
export interface Subject {
  name: string
  server: Server
  /** Sent in turn. Each round continues where the last one ended. */
  requests: HttpRequest[]
}

/** How `subject` did, divided by how `floor` did within seconds of it, in each round. */
interface Ratios {
  /** Requests per CPU second of the server. */
  throughput: Spread
  p99: Spread
}

type Round = { ours: Generated; floors: Generated; others: number }

/**
 * Warms up both, then loads each in turn, round after round, so that what else the machine does affects both
 * alike. Repeats rounds in which others kept the server's core busy. If too many were, the quietest count.
 * @throws Error if a subject refused or failed what it should have answered.
 */
export async function measureBeside(bench: Bench, subject: Subject, floor: Subject): Promise<Ratios> {
  const [ours, floors] = [await prepare(bench, subject), await prepare(bench, floor)]
  for (const { warmUp } of [ours, floors]) await warmUp()
  const attempts: Round[] = []
  const countQuiet = () => attempts.filter(({ others }) => others <= OTHERS_MAX).length
  while (countQuiet() < ROUNDS && attempts.length < ATTEMPTS_MAX) {
    bench.progress(`round ${attempts.length + 1}, ${countQuiet()} of ${ROUNDS} quiet ones so far`)
    const loads = { ours: await ours.load(1), floors: await floors.load(1) }
    attempts.push({ ...loads, others: Math.max(loads.ours.others, loads.floors.others) })
  }
  await bench.forgetLogs()
  const rounds = attempts.sort((a, b) => a.others - b.others).slice(0, ROUNDS)
  const inEach = (divide: (round: Round) => number) => spread(rounds.map(divide))
  const perCpuSecond = inEach(({ ours }) => ours.requests / ours.cpu).median.toFixed()
  bench.progress(
    `${perCpuSecond} requests per CPU second, ${countQuiet()} of ${attempts.length} rounds quiet`,
  )
  return {
    throughput: inEach(({ ours, floors }) => ours.requests / ours.cpu / (floors.requests / floors.cpu)),
    p99: inEach(({ ours, floors }) => ours.p99_ms / floors.p99_ms),
  }
}

/** Loads one subject without a break. */
export async function loadFor(bench: Bench, subject: Subject, seconds: number): Promise<void> {
  const { load } = await prepare(bench, subject)
  await load(seconds)
}

async function prepare({ directory, progress }: Bench, { name, server, requests }: Subject) {
  const requestsFile = join(directory, `${randomUUID()}.txt`)
  await writeRequests(requestsFile, requests)
  // The generator only reports which answers were errors.
  const response = await send(server, requests[0] as HttpRequest)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${name}: answered ${response.status}: ${text.slice(0, 200)}`)
  let sent = 0

  async function load(seconds: number): Promise<Generated> {
    const generated = await generate({ server, requestsFile, first: sent % requests.length, seconds })
    sent += generated.requests
    if (generated.failed > 0) throw new Error(`${name}: ${generated.failed} requests failed`)
    if (generated.refused > 0)
      throw new Error(`${name}: ${generated.refused} of ${generated.requests} requests were refused`)
    return generated
  }

  async function warmUp(): Promise<void> {
    progress(`warming up ${name}`)
    const deadline = Date.now() + WARM_UP_LIMIT_MS
    for (let round = 0; Date.now() < deadline; round++) {
      const warm = cpuSeconds(server.pid) >= WARM_AFTER_CPU_SECONDS && sent >= requests.length
      if (warm && round >= WARM_UP_ROUNDS_MIN) return
      await load(1)
    }
  }

  return { load, warmUp }
}
