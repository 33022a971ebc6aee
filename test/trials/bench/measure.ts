import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { cpuSeconds } from './cores.ts'
import type { Goal } from './goals.ts'
import { quietRounds, watchCore } from './quiet.ts'
import { type HttpRequest, send, writeRequests } from './requests.ts'
import type { Bench, Finding, Measurement } from './row.ts'
import type { Server } from './servers.ts'
import { type Spread, spread } from './statistics.ts'
import { type Generated, generate } from './wrk.ts'

/**
 * A process gets faster for some seconds while Node compiles what it runs, and while it meets clients for the first
 * time. So it is loaded until it has worked for so long since its start and was sent every request.
 */
const WARM_AFTER_CPU_SECONDS = 10
const WARM_UP_ROUNDS_MIN = 2
const WARM_UP_LIMIT_MS = 120_000
/** Of each load in a round. */
const LOAD_S = 1
export const CONNECTIONS = 16

/** One load, and the server whose CPU time counts. */
export interface Subject {
  name: string
  server: Server
  /** Sent in turn; each round goes on where the last one ended. */
  requests: HttpRequest[]
  /** The share of them that is meant to be refused. Default 0. */
  refused?: number
  /** Not warmed up, and no request is sent twice: its server has met none of them. */
  unmet?: boolean
  /** Default: 16. */
  connections?: number
}

/** One round. */
export interface Sample {
  /** Requests that were answered and not refused. */
  perSecond: number
  perCpuSecond: number
  cores: number
  p50_ms: number
  p99_ms: number
  /** The share of the server's core that others used. */
  others: number
}

export interface Measured {
  subject: Pick<Subject, 'name' | 'server'>
  samples: Sample[]
}

/**
 * Warms every subject up, and then loads each in turn, round after round, so that what the machine does meanwhile
 * falls on all alike. Rounds in which others kept the server's core busy are repeated.
 * @throws Error when a subject refused or failed what it should have answered.
 */
export async function measureInterleaved<T extends Subject[]>(
  bench: Bench,
  subjects: [...T],
): Promise<{ [K in keyof T]: Measured }> {
  const { rounds } = bench
  const runs = await Promise.all(subjects.map((subject) => prepare(bench, subject)))
  for (const run of runs) {
    bench.progress(`warming up ${run.subject.name}`)
    if (!run.subject.unmet) await run.warmUp()
  }
  const quiet = await quietRounds(rounds, async (attempt) => {
    bench.progress(`round ${attempt} for ${rounds} quiet ones`)
    const samples: Sample[] = []
    for (const run of runs) samples.push(await run.once(LOAD_S))
    return { samples, others: Math.max(...samples.map(({ others }) => others)) }
  })
  bench.measuredWhile(quiet.business)
  await bench.servers.forgetLogs()
  return subjects.map((subject, i) => ({
    subject,
    samples: quiet.rounds.map(({ samples }) => samples[i] as Sample),
  })) as { [K in keyof T]: Measured }
}

/** What the figures of one load beside another are called, and what they are to reach. */
interface Beside {
  /** Default: the name of the first. */
  what?: string
  beside: string
  goal: Goal
  p99?: { beside: string; goal: Goal }
}

/** Loads both in turn, and finds how many times as much `one` did as `other`. */
export async function measureBeside(
  bench: Bench,
  [one, other]: [Subject, Subject],
  about: Beside,
): Promise<Measurement> {
  return compared(await measureInterleaved(bench, [one, other]), about)
}

/** How many times as much the first did as the second, and the ratio of their p99 where that has a goal. */
export function compared([one, other]: [Measured, Measured], about: Beside): Measurement {
  const { what = one.subject.name, beside, goal, p99 } = about
  const ratio = (pick: (sample: Sample) => number) => ratioOf(one, other, pick)
  const findings: Finding[] = [
    {
      what,
      beside,
      goal,
      unit: 'ratio',
      value: ratio(({ perSecond }) => perSecond),
      perCpuSecond: ratio(({ perCpuSecond }) => perCpuSecond),
    },
  ]
  if (p99)
    findings.push({ ...p99, what: `${what}: p99`, unit: 'ratio', value: ratio(({ p99_ms }) => p99_ms) })
  return { findings, loads: [one, other] }
}

/** Loads one subject without a break. */
export async function measureFor(bench: Bench, subject: Subject, seconds: number): Promise<Measured> {
  const run = await prepare(bench, subject)
  return { subject, samples: [await run.once(seconds)] }
}

/** Of each round, since both were measured within seconds of each other. */
export function ratioOf(one: Measured, other: Measured, pick: (sample: Sample) => number): Spread {
  return spread(one.samples.map((sample, i) => pick(sample) / pick(other.samples[i] as Sample)))
}

async function prepare({ servers }: Bench, subject: Subject) {
  const { server, requests, unmet, connections = CONNECTIONS } = subject
  const requestsFile = join(servers.directory, `${randomUUID()}.txt`)
  await writeRequests(requestsFile, requests)
  await probe(subject)
  let sent = 0

  async function once(seconds: number): Promise<Sample> {
    let before = 0
    let watched = (_seconds: number) => 0
    const load = { origin: server.url, requestsFile, first: sent % requests.length, connections, seconds }
    const generated = await generate(load, () => {
      before = cpuSeconds(server.pids)
      watched = watchCore(server)
    })
    const cpu = cpuSeconds(server.pids) - before
    const others = watched(generated.seconds)
    // What was in flight at the end was sent, but not counted.
    sent += generated.requests + (unmet ? connections : 0)
    if (unmet && sent > requests.length)
      throw new Error(`${subject.name}: there were too few requests to send each once`)
    requireExpected(subject, generated, connections)
    const good = generated.requests - generated.refused
    return {
      perSecond: good / generated.seconds,
      perCpuSecond: good / cpu,
      cores: cpu / generated.seconds,
      p50_ms: generated.p50_ms,
      p99_ms: generated.p99_ms,
      others,
    }
  }

  return {
    subject,
    once,
    async warmUp() {
      const deadline = Date.now() + WARM_UP_LIMIT_MS
      for (let round = 0; Date.now() < deadline; round++) {
        const warm = cpuSeconds(server.pids) >= WARM_AFTER_CPU_SECONDS && sent >= requests.length
        if (warm && round >= WARM_UP_ROUNDS_MIN) return
        await once(1)
      }
    },
  }
}

/** The generator only tells which answers were errors: one request is looked at more closely. */
async function probe({ name, server, requests: [request] }: Subject): Promise<void> {
  const response = await send(server, request as HttpRequest)
  const text = await response.text()
  if (response.status !== 200)
    throw new Error(`${name}: answered ${response.status} and not 200: ${text.slice(0, 200)}`)
}

function requireExpected(
  { name, refused: share = 0 }: Subject,
  { requests, refused, failed }: Generated,
  connections: number,
): void {
  if (failed > 0) throw new Error(`${name}: ${failed} requests failed`)
  // Turns are taken when requests are sent: those under way at the end are not all answered.
  const tolerated = share > 0 ? 2 * connections : 0
  if (Math.abs(refused - share * requests) > tolerated)
    throw new Error(`${name}: ${refused} of ${requests} requests were refused`)
}
