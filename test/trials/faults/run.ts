import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../support/eventually.ts'
import type { Fault } from './faults.ts'
import { createLedger, recountAll } from './ledger.ts'
import { createRandom } from './random.ts'
import { type Answer, createRecorder, OPERATIONS } from './recorder.ts'
import { createRevokedThings } from './revoked.ts'
import { type Scene, startTraffic } from './traffic.ts'
import { createWorld, type World } from './world.ts'

/** A run has recovered after this long without a bad answer, once every process has given a good one. */
const GOOD_FOR_MS = 1_000
const POLL_MS = 100
const LASTS_MIN_MS = 3_000
const LASTS_MAX_MS = 4_500
/** What each process of a service must answer well again. */
const ANSWERS = { auth: ['token'], api: ['read', 'ingest', 'workspace'], outside: ['outside'] } as const

export interface RunOptions {
  /** Decides order and length of the faults, and who asks whom. */
  seed: string
  /** One after another, in this order. */
  faults: readonly Fault[]
  /** No fault begins later than this after the first. Default: each may begin. */
  limit_ms?: number
  /** The pause of each of about 30 workers between two requests. Default: 40. */
  pause_ms?: number
  /** A process that runs must answer by then. Default: 10 s. Each request is given up 4 s later. */
  answerMax_ms?: number
  /** After a fault every process answers well again by then, and Redis is trusted. Default: 15 s. */
  recoveryMax_ms?: number
  /** Called with each fault that is over. */
  progress?(row: FaultRow): void
  /** Once aborted, everything stops and the run rejects. */
  signal?: AbortSignal
}

/** What one fault did. */
export interface FaultRow {
  fault: string
  /** Percent of good answers to requests that began while it lasted, rounded down: 100 if none failed. */
  availability: Partial<Record<(typeof OPERATIONS)[number], number>>
  /** The longest revoke that was answered 200, or 0 if there was none. */
  slowestRevoke_ms: number
  /** The time from the fault's end to the start of the last request that failed, or 0 if none did. */
  recovery_ms: number
}

/** Runs both services, traffic and faults, and checks the promises. Stops and removes all that it started. */
export async function runFaults(options: RunOptions) {
  await using world = await createWorld()
  const { signal } = options
  signal?.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  signal?.addEventListener('abort', () => aborted.reject(signal.reason))
  return await Promise.race([withTraffic(world, options), aborted.promise])
}

async function withTraffic(world: World, options: RunOptions) {
  const { seed, faults, limit_ms = Number.POSITIVE_INFINITY, progress } = options
  const { pause_ms = 40, answerMax_ms = 10_000, recoveryMax_ms = 15_000 } = options
  const recorder = createRecorder(answerMax_ms)
  const ledger = createLedger()
  const revoked = createRevokedThings(world, recorder)
  const random = createRandom(`${seed} faults`)
  const ending = new AbortController()
  const scene = { ...world, recorder, ledger, revoked, seed, random, pause_ms, ending: ending.signal }
  const trafficEnded = await startTraffic(scene)
  const rows: FaultRow[] = []
  try {
    await eventually(() => revoked.count() > 0 && ledger.eventsAcknowledged.size > 0, {
      limit_ms: recoveryMax_ms,
      otherwise: () => 'nothing was revoked or reported before the first fault',
    })
    const end_ms = performance.now() + limit_ms
    for (const fault of faults) {
      if (performance.now() > end_ms) break
      const row = await suffer(fault, scene, recoveryMax_ms)
      rows.push(row)
      progress?.(row)
    }
  } finally {
    ending.abort()
    await trafficEnded()
  }
  recorder.phase = 'end'
  await revoked.lastLook()
  await recountAll(scene)
  return {
    rows,
    violations: recorder.violations,
    requests: recorder.total,
    events: ledger.eventsAcknowledged.size,
    clients: [...ledger.clients.values()].filter((id) => id !== undefined).length,
    revocations: revoked.count(),
  }
}

async function suffer(fault: Fault, scene: Scene, recoveryMax_ms: number): Promise<FaultRow> {
  const { sites, random, recorder, untilTrusted } = scene
  const varied_ms = LASTS_MIN_MS + random.next() * (LASTS_MAX_MS - LASTS_MIN_MS)
  recorder.answers = []
  recorder.phase = fault.name
  const began_ms = performance.now()
  const end = await fault.strike(scene)
  recorder.outage = fault.outage && { ...fault.outage, since_ms: performance.now() }
  await sleep(fault.lasts_ms ?? varied_ms)
  recorder.outage = undefined
  await end?.()
  const ended_ms = performance.now()
  recorder.phase = `after ${fault.name}`
  const complain = ({ message }: Error) => recorder.violation(message)
  await untilRecovered(scene, ended_ms, recoveryMax_ms).catch(complain)
  await recorder.settled()
  await untilTrusted(recoveryMax_ms).catch(complain)
  for (const site of sites) {
    const crash = site.crash()
    if (crash) recorder.violation(crash)
  }
  return summarizeAnswers(fault.name, recorder.answers, began_ms, ended_ms)
}

/** Waits until every process answers everything well again. */
function untilRecovered({ sites, recorder }: Scene, since_ms: number, limit_ms: number): Promise<true> {
  const formatName = ({ operation, site }: Answer): string => `${operation} at ${site.name}`
  const expected = sites.flatMap(({ name, service }) => ANSWERS[service].map((what) => `${what} at ${name}`))
  const missing = () => {
    const later = recorder.answers.filter(({ began_ms, counts }) => counts && began_ms >= since_ms)
    const well = new Set(later.filter(({ good }) => good).map(formatName))
    const justNow_ms = performance.now() - GOOD_FOR_MS
    const bad = later.filter(({ good, began_ms }) => !good && began_ms > justNow_ms)
    return [...new Set([...expected.filter((name) => !well.has(name)), ...bad.map(formatName)])]
  }
  return eventually(() => performance.now() - since_ms >= GOOD_FOR_MS && missing().length === 0, {
    limit_ms,
    every_ms: POLL_MS,
    otherwise: () => `not recovered after ${limit_ms} ms: ${missing().join(', ')}`,
  })
}

function summarizeAnswers(
  fault: string,
  answers: readonly Answer[],
  began_ms: number,
  ended_ms: number,
): FaultRow {
  const relevant = answers.filter((answer) => answer.counts && answer.began_ms >= began_ms)
  const during = relevant.filter((answer) => answer.began_ms < ended_ms)
  const availability: FaultRow['availability'] = {}
  for (const operation of OPERATIONS) {
    const ofOperation = during.filter((answer) => answer.operation === operation)
    const good = ofOperation.filter((answer) => answer.good)
    if (ofOperation.length > 0) availability[operation] = Math.floor((100 * good.length) / ofOperation.length)
  }
  const revokes = relevant.filter(({ operation, good }) => operation === 'revoke' && good)
  const failed = relevant.filter((answer) => !answer.good && answer.began_ms >= ended_ms)
  return {
    fault,
    availability,
    slowestRevoke_ms: Math.max(0, ...revokes.map((answer) => answer.ended_ms - answer.began_ms)),
    recovery_ms: Math.max(0, ...failed.map((answer) => answer.began_ms - ended_ms)),
  }
}
