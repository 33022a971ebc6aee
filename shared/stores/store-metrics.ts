import { Counter } from 'prom-client'
import type { Metrics } from '#shared/process/metrics.ts'
import type { Database } from './postgres.ts'
import type { RedisWatch } from './redis-watch.ts'

/** What is used of tarn's pool, which knex has no type for. */
type Pool = Record<'numUsed' | 'numFree' | 'numPendingAcquires', () => number> & { max: number }

/** The connections of each pool, by its name. */
export function measurePools({ gauge }: Metrics, databases: Record<string, Database>): void {
  const pools = Object.entries(databases).map(([pool, db]) => [pool, db.client.pool as Pool] as const)
  const help = 'Postgres connections of the pools: used, free, or waited for'
  gauge('integration_postgres_connections', { help, labels: ['pool', 'state'], over: 'sum' }, (set) => {
    for (const [pool, connections] of pools) {
      set(connections.numUsed(), { pool, state: 'used' })
      set(connections.numFree(), { pool, state: 'free' })
      set(connections.numPendingAcquires(), { pool, state: 'waiting' })
    }
  })
  const most = 'Most Postgres connections of the pools'
  gauge('integration_postgres_connections_max', { help: most, labels: ['pool'], over: 'sum' }, (set) => {
    for (const [pool, connections] of pools) set(connections.max, { pool })
  })
}

/** Measures whether each Redis is usable, whether it vouches for revocations, and which store decides. */
export function measureRedis(
  metrics: Metrics,
  watches: readonly Pick<RedisWatch, 'name' | 'trouble'>[],
  { counts, isTrusted }: { counts: () => object; isTrusted: () => boolean },
): void {
  const usable = '1 while every process can use the Redis server'
  metrics.gauge('integration_redis_usable', { help: usable, labels: ['redis'], over: 'min' }, (set) => {
    for (const { name, trouble } of watches) set(trouble() ? 0 : 1, { redis: name })
  })
  const trusted = '1 while Redis vouches for revocations; else Postgres decides'
  metrics.gauge('integration_redis_trusted', { help: trusted, over: 'min' }, (set) => set(+isTrusted()))
  new Counter({
    name: 'integration_revocation_decisions_total',
    help: 'Questions about a revocation, by the store that decided; neither: the answer was 503',
    labelNames: ['by'],
    registers: [metrics.registry],
    collect() {
      this.reset()
      for (const [by, count] of Object.entries(counts())) this.inc({ by }, count)
    },
  })
}
