import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { cpuSeconds } from './cores.ts'
import { quietRounds } from './quiet.ts'
import type { Bench, Finding } from './row.ts'
import { type Spread, spread } from './statistics.ts'
import type { Server } from './world.ts'
import { generate, type HttpRequest, send, writeRequests } from './wrk.ts'

/**
 * A process gets faster for some seconds, while Node compiles what it runs and while it meets new clients. So
 * it is loaded until it has worked this long since its start and has been sent every request.
 */
const WARM_AFTER_CPU_SECONDS = 10
const WARM_UP_ROUNDS_MIN = 2
const WARM_UP_LIMIT_MS = 120_000
/** The duration of each load in a round. */
const LOAD_S = 1
const CONNECTIONS = 16

/** One load, and the server whose CPU time counts. */
export interface Subject {
  name: string
  server: Server
  /** Sent in turn. Each round continues where the last one ended. */
  requests: HttpRequest[]
}

/** One load in one round. */
export interface Sample {
  /** Requests that were answered and not refused. */
  perSecond: number
  perCpuSecond: number
  p99_ms: number
  /** The share of the server's core that others used. */
  others: number
}

export interface Measured {
  name: string
  samples: Sample[]
}

type MeasuredEach<T extends unknown[]> = { [K in keyof T]: Measured }

/**
 * Warms up every subject, then loads each in turn, round after round, so that what else the machine does
 * affects all alike. Rounds in which others kept the server's core busy are repeated.
 * @throws Error if a subject refused or failed what it should have answered.
 */
export async function measureInterleaved<T extends Subject[]>(
  bench: Bench,
  subjects: [...T],
): Promise<MeasuredEach<T>> {
  const runs = await Promise.all(subjects.map((subject) => prepare(bench, subject)))
  for (const { subject, warmUp } of runs) {
    bench.progress(`warming up ${subject.name}`)
    await warmUp()
  }
  const { rounds, business } = await quietRounds(bench.rounds, async (attempt) => {
    bench.progress(`round ${attempt} for ${bench.rounds} quiet ones`)
    const samples: Sample[] = []
    for (const { load } of runs) samples.push(await load(LOAD_S))
    return { samples, others: Math.max(...samples.map(({ others }) => others)) }
  })
  const measured = subjects.map(({ name }, i) => ({
    name,
    samples: rounds.map(({ samples }) => samples[i] as Sample),
  }))
  bench.business.push(business)
  await bench.forgetLogs()
  return measured as MeasuredEach<T>
}

/** Loads one subject without a break. */
export async function loadFor(bench: Bench, subject: Subject, seconds: number): Promise<void> {
  const { load } = await prepare(bench, subject)
  await load(seconds)
}

type Labels = Pick<Finding, 'beside' | 'goal'> & { what?: string }

/** Returns how many times as much `subject` did as `baseline`. */
export const throughput = (subject: Measured, baseline: Measured, labels: Labels): Finding => ({
  what: subject.name,
  ...labels,
  value: eachRound(subject, baseline, (a, b) => a.perSecond / b.perSecond),
  unit: 'ratio',
  perCpuSecond: eachRound(subject, baseline, (a, b) => a.perCpuSecond / b.perCpuSecond),
})

export const p99Ratio = (subject: Measured, baseline: Measured, labels: Labels): Finding => ({
  what: `${subject.name}: p99`,
  ...labels,
  value: eachRound(subject, baseline, (a, b) => a.p99_ms / b.p99_ms),
  unit: 'ratio',
})

/** Compares the two loads of each round, since both were measured within seconds of each other. */
const eachRound = (
  subject: Measured,
  baseline: Measured,
  compare: (a: Sample, b: Sample) => number,
): Spread => spread(subject.samples.map((sample, i) => compare(sample, baseline.samples[i] as Sample)))

async function prepare({ directory }: Bench, subject: Subject) {
  const { name, server, requests } = subject
  const requestsFile = join(directory, `${randomUUID()}.txt`)
  await writeRequests(requestsFile, requests)
  await probe(subject)
  let sent = 0

  async function load(seconds: number): Promise<Sample> {
    const first = sent % requests.length
    const generated = await generate({ server, requestsFile, first, connections: CONNECTIONS, seconds })
    sent += generated.requests
    if (generated.failed > 0) throw new Error(`${name}: ${generated.failed} requests failed`)
    if (generated.refused > 0)
      throw new Error(`${name}: ${generated.refused} of ${generated.requests} requests were refused`)
    return {
      perSecond: generated.requests / generated.seconds,
      perCpuSecond: generated.requests / generated.cpu,
      p99_ms: generated.p99_ms,
      others: generated.others,
    }
  }

  async function warmUp(): Promise<void> {
    const deadline = Date.now() + WARM_UP_LIMIT_MS
    for (let round = 0; Date.now() < deadline; round++) {
      const warm = cpuSeconds(server.pid) >= WARM_AFTER_CPU_SECONDS && sent >= requests.length
      if (warm && round >= WARM_UP_ROUNDS_MIN) return
      await load(1)
    }
  }

  return { subject, load, warmUp }
}

/** Looks at one request closely, since the generator only reports which answers were errors. */
async function probe({ name, server, requests }: Subject): Promise<void> {
  const response = await send(server, requests[0] as HttpRequest)
  const text = await response.text()
  if (response.status !== 200)
    throw new Error(`${name}: answered ${response.status} and not 200: ${text.slice(0, 200)}`)
}
