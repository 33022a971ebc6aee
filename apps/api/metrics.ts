import type { Middleware } from 'koa'
import { Histogram } from 'prom-client'
import type { Metrics } from '#shared/process/metrics.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import type { TestSender } from './callbacks/sender.ts'
import type { ApiState } from './http/state.ts'

const EVENTS_ROUTE = '/v1/analytics/:vendorId/events'
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

/**
 * Times each command to Redis, and each use of a Postgres connection with the wait for one: what a request that was
 * slow waited for. The questions of one turn share a command, so this costs little.
 */
export function measureStoreWaits({ registry }: Metrics, redis: Redis, pools: readonly Database[]): void {
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
  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, stream) => {
    const ended = timer('redis')
    command.promise.then(ended, ended)
    return send(command, stream)
  }
  for (const { client } of pools) {
    const [acquire, release] = [client.acquireConnection.bind(client), client.releaseConnection.bind(client)]
    const used = new WeakMap<object, () => void>()
    client.acquireConnection = async () => {
      const ended = timer('postgres')
      try {
        const connection = await acquire()
        used.set(connection, ended)
        return connection
      } catch (error) {
        ended()
        throw error
      }
    }
    client.releaseConnection = (connection: object) => {
      used.get(connection)?.()
      return release(connection)
    }
  }
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
