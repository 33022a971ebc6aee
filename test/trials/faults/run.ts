import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../support/eventually.ts'
import type { Fault, Scene } from './faults.ts'
import { createLedger, recountAll } from './ledger.ts'
import { createRandom } from './random.ts'
import { type Answer, createRecorder, OPERATIONS } from './recorder.ts'
import { createRevokedThings } from './revoked.ts'
import { startTraffic } from './traffic.ts'
import { createCompany, createWorld, type World } from './world.ts'

const ANSWER_MAX_MS = 10_000
const RECOVERY_MAX_MS = 15_000
/** This long without a bad answer, and every process has given a good one: it has recovered. */
const GOOD_FOR_MS = 1_000
const POLL_MS = 100
const LASTS_MIN_MS = 3_000
const LASTS_MAX_MS = 4_500
const PAUSE_MS = 40
/** What each process of a service must answer well again. */
const ANSWERS = { auth: ['token'], api: ['read', 'ingest', 'workspace'], outside: ['outside'] } as const

export interface RunOptions {
  seed: number
  /** One after another, in this order. */
  faults: readonly Fault[]
  /** No fault begins later than this after the first. */
  limit_ms: number
  /** Of each of the 30 or so workers between two requests. Default: 40. */
  pause_ms?: number
  /** A process that runs must answer by then. Default: 10 s. Each request is given up 4 s later. */
  answerMax_ms?: number
  /** After a fault every process answers well again by then, and Redis is trusted. Default: 15 s. */
  recoveryMax_ms?: number
  /** Called with each fault that is over. */
  progress?(row: Row): void
  /** Aborted: everything is stopped where it is, and the run rejects. */
  signal?: AbortSignal
}

/** What one fault did. */
export interface Row {
  fault: string
  /** Good answers and all, of requests that began while it lasted. */
  availability: Record<(typeof OPERATIONS)[number], { good: number; all: number }>
  /** The longest of the revokes that were answered 200; 0: there was none. */
  slowestRevoke_ms: number
  /** From the fault's end to the beginning of the last request that failed; 0: none did. */
  recovery_ms: number
}

/** Runs both services, traffic and faults, and checks the promises; stops and removes everything that it started. */
export async function runFaults(options: RunOptions) {
  const world = await createWorld()
  const aborted = Promise.withResolvers<never>()
  options.signal?.addEventListener('abort', () => aborted.reject(new Error('interrupted')))
  try {
    return await Promise.race([withTraffic(world, options), aborted.promise])
  } finally {
    await world.stop()
  }
}

async function withTraffic(world: World, options: RunOptions) {
  const { pause_ms = PAUSE_MS, recoveryMax_ms = RECOVERY_MAX_MS } = options
  const random = createRandom(options.seed)
  const company = await createCompany(world.db)
  const recorder = createRecorder(options.answerMax_ms ?? ANSWER_MAX_MS)
  const ledger = createLedger()
  const revoked = createRevokedThings(world, company, recorder)
  const traffic = await startTraffic({ world, company, recorder, ledger, revoked, random, pause_ms })
  const scene: Scene = { world, random: random.named('faults'), recorder, traffic, revoked }
  const rows: Row[] = []
  try {
    await eventually(() => revoked.count() > 0 && ledger.eventsAcknowledged.size > 0, {
      limit_ms: recoveryMax_ms,
      otherwise: () => 'nothing was revoked or reported before the first fault',
    })
    const end_ms = performance.now() + options.limit_ms
    for (const fault of options.faults) {
      if (performance.now() > end_ms) break
      const row = await suffer(fault, scene, recoveryMax_ms)
      rows.push(row)
      options.progress?.(row)
    }
  } finally {
    await traffic.stop()
  }
  recorder.phase = 'end'
  await revoked.lastLook()
  await recountAll({ ledger, world, company, recorder }, traffic.token())
  return {
    rows,
    violations: recorder.violations,
    requests: recorder.total,
    events: ledger.eventsAcknowledged.size,
    clients: [...ledger.clients.values()].filter((id) => id !== undefined).length,
    revocations: revoked.count(),
  }
}

async function suffer(fault: Fault, scene: Scene, recoveryMax_ms: number): Promise<Row> {
  const { world, random, recorder } = scene
  const varied_ms = LASTS_MIN_MS + random.next() * (LASTS_MAX_MS - LASTS_MIN_MS)
  recorder.answers = []
  recorder.phase = fault.name
  const began_ms = performance.now()
  const end = await fault.strike(scene)
  if (fault.storesGone) recorder.storesGoneSince_ms = performance.now()
  if (fault.feedGone) recorder.feedGoneSince_ms = performance.now()
  try {
    await sleep(fault.lasts_ms ?? varied_ms)
  } finally {
    recorder.storesGoneSince_ms = undefined
    recorder.feedGoneSince_ms = undefined
    await end()
  }
  const ended_ms = performance.now()
  recorder.phase = `after ${fault.name}`
  await recovered(scene, ended_ms, recoveryMax_ms)
  await recorder.settled()
  await world.untilTrusted(recoveryMax_ms).catch(({ message }) => recorder.violation(message))
  for (const site of [...world.sites, ...world.outside.sites]) {
    const crash = site.crash()
    if (crash) recorder.violation(crash)
  }
  return rowOf(fault.name, recorder.answers, { began_ms, ended_ms })
}

/** Waits until every process answers everything well again; a violation if some do not in time. */
async function recovered({ world, recorder }: Scene, since_ms: number, max_ms: number): Promise<void> {
  const { sites, outside } = world
  const wanted = [...sites, ...outside.sites].flatMap(({ name, service }) =>
    ANSWERS[service].map((what) => `${what} at ${name}`),
  )
  for (;;) {
    await sleep(POLL_MS)
    const now_ms = performance.now()
    const later = recorder.answers.filter(({ began_ms, counts }) => counts && began_ms >= since_ms)
    const well = new Set(later.filter(({ good }) => good).map(nameOf))
    const bad = later.filter(({ good, began_ms }) => !good && began_ms > now_ms - GOOD_FOR_MS).map(nameOf)
    const missing = [...wanted.filter((name) => !well.has(name)), ...new Set(bad)]
    if (missing.length === 0 && now_ms - since_ms >= GOOD_FOR_MS) return
    if (now_ms - since_ms > max_ms)
      return recorder.violation(`not recovered after ${max_ms} ms: ${missing.join(', ')}`)
  }
}

const nameOf = ({ operation, site }: Answer): string => `${operation} at ${site.name}`

function rowOf(
  fault: string,
  answers: readonly Answer[],
  { began_ms, ended_ms }: { began_ms: number; ended_ms: number },
): Row {
  const counted = answers.filter((answer) => answer.counts && answer.began_ms >= began_ms)
  const during = counted.filter((answer) => answer.began_ms < ended_ms)
  const availability = Object.fromEntries(
    OPERATIONS.map((operation) => {
      const of = during.filter((answer) => answer.operation === operation)
      return [operation, { good: of.filter(({ good }) => good).length, all: of.length }]
    }),
  ) as Row['availability']
  const revokes = counted.filter(({ operation, good }) => operation === 'revoke' && good)
  const failed = counted.filter((answer) => !answer.good && answer.began_ms >= ended_ms)
  return {
    fault,
    availability,
    slowestRevoke_ms: Math.max(0, ...revokes.map((answer) => answer.ended_ms - answer.began_ms)),
    recovery_ms: Math.max(0, ...failed.map((answer) => answer.began_ms - ended_ms)),
  }
}
