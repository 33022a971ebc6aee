import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Middleware } from 'koa'
import { Histogram } from 'prom-client'
import { countFailingIssuers } from '#shared/oauth/workload-issuers.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { TestSender } from './callbacks/sender.ts'
import type { ApiState } from './http/state.ts'

const EVENTS_ROUTE = '/v1/analytics/:vendorId/events'
const STORE_WAIT_MS = 2_000
const STORE_BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]
const TURN_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128]

/** Counts each answer, the requests of each turn of the event loop, and the events that an answer says were stored. */
export function createMeasuringMiddleware(metrics: Metrics): Middleware<ApiState> {
  const help = 'Analytics events that integrators reported, by what became of them'
  const stored = metrics.counter('integration_events_total', help, { result: ['accepted', 'duplicate'] })
  const turns = new Histogram({
    name: 'integration_turn_requests',
    help: 'Requests that began in the same turn of the event loop, and so share their questions to the stores',
    buckets: TURN_BUCKETS,
    registers: [metrics.registry],
  })
  let begun = 0
  function turnEnds(): void {
    turns.observe(begun)
    begun = 0
  }
  return async (ctx, next) => {
    const started_ms = performance.now()
    if (begun === 0) setImmediate(turnEnds)
    begun += 1
    await next()
    const { method, status } = ctx
    const route = ctx.state.route?.path ?? 'unmatched'
    metrics.answered({ route, method, status, duration_ms: performance.now() - started_ms })
    if (route !== EVENTS_ROUTE || status !== 200) return
    const { accepted, duplicates } = ctx.body as { accepted: number; duplicates: number }
    stored.inc({ result: 'accepted' }, accepted)
    stored.inc({ result: 'duplicate' }, duplicates)
  }
}

/** The channels of ioredis for each command of a process (its README, "Diagnostics Channel"). */
const COMMAND_SENT = 'tracing:ioredis:command:start'
const COMMAND_ENDED = 'tracing:ioredis:command:asyncEnd'

/** What tarn, knex's pool, reports. knex has no type for it. */
interface PoolEvents {
  on(name: 'acquireRequest' | 'acquireFail', listener: (id: number) => void): void
  on(name: 'acquireSuccess', listener: (id: number, connection: object) => void): void
  on(name: 'release', listener: (connection: object) => void): void
}

/**
 * Times each command to Redis, and each use of a Postgres connection with the wait for one: what a request that was
 * slow waited for. The questions of one turn share a command, so this costs little. Returns a function that ends it.
 */
export function measureStoreWaits({ registry }: Metrics, pools: readonly Database[]): () => void {
  const waits = new Histogram({
    name: 'integration_store_wait_seconds',
    help: 'How long commands to Redis took, and statements of integrators and decisions in Postgres, with their pool',
    labelNames: ['store'],
    buckets: STORE_BUCKETS_S,
    registers: [registry],
  })
  const timer = (store: string) => {
    const started_ms = performance.now()
    return () => waits.observe({ store }, (performance.now() - started_ms) / 1_000)
  }
  for (const { client } of pools) {
    const pool = client.pool as PoolEvents
    const asked = new Map<number, () => void>()
    const used = new WeakMap<object, () => void>()
    const take = (id: number): (() => void) | undefined => {
      const ended = asked.get(id)
      asked.delete(id)
      return ended
    }
    pool.on('acquireRequest', (id) => asked.set(id, timer('postgres')))
    pool.on('acquireFail', (id) => take(id)?.())
    pool.on('acquireSuccess', (id, connection) => used.set(connection, take(id) as () => void))
    pool.on('release', (connection) => used.get(connection)?.())
  }
  const commands = new WeakMap<object, () => void>()
  const sent = (command: unknown) => void commands.set(command as object, timer('redis'))
  const ended = (command: unknown) => commands.get(command as object)?.()
  subscribe(COMMAND_SENT, sent)
  subscribe(COMMAND_ENDED, ended)
  return () => {
    unsubscribe(COMMAND_SENT, sent)
    unsubscribe(COMMAND_ENDED, ended)
  }
}

/** Nothing is set while Postgres does not answer. */
export function measureIssuers({ gauge }: Metrics, db: Database, clock: Clock): void {
  const help =
    'Issuers of workloads whose keys could not be fetched for an hour: after a day they are not believed'
  gauge('integration_workload_issuers_failing', { help, over: 'max' }, async (set) => {
    const count = countFailingIssuers(db, new Date(clock.now())).catch(() => undefined)
    const failing = await within(STORE_WAIT_MS, count)
    if (failing !== undefined) set(failing)
  })
}

/** The sender that also counts the outcome of each test event. */
export function countedSender(sender: TestSender, { counter }: Metrics): TestSender {
  const help = 'Test events sent to callback addresses, by outcome'
  const outcome = ['success', 'receiver_failure', 'unconfirmed', 'stopped']
  const sent = counter('integration_test_sends_total', help, { outcome })
  return {
    ...sender,
    async send(event) {
      const ended = await sender.send(event)
      sent.inc({ outcome: ended.result?.outcome ?? 'stopped' })
      return ended
    },
  }
}
