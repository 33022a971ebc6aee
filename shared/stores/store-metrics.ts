import { Counter, Gauge } from 'prom-client'
import type { Metrics } from '#shared/process/metrics.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from './postgres.ts'
import type { RedisConnections } from './redis-watch.ts'

/** What is used of tarn's pool, which knex has no type for. */
interface Pool {
  max: number
  numUsed(): number
  numFree(): number
  numPendingAcquires(): number
}

/** The connections of each pool, by its name. */
export function measurePools({ registry }: Metrics, databases: Record<string, Database>): void {
  const pools = Object.entries(databases).map(([pool, db]) => [pool, db.client.pool as Pool] as const)
  new Gauge({
    name: 'integration_postgres_connections',
    help: 'Postgres connections of the pools: used, free, or waited for',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [pool, of] of pools) {
        this.set({ pool, state: 'used' }, of.numUsed())
        this.set({ pool, state: 'free' }, of.numFree())
        this.set({ pool, state: 'waiting' }, of.numPendingAcquires())
      }
    },
  })
  const max = new Gauge({
    name: 'integration_postgres_connections_max',
    help: 'Most Postgres connections of the pools',
    labelNames: ['pool'],
    registers: [registry],
  })
  for (const [pool, of] of pools) max.set({ pool }, of.max)
}

/** Whether each Redis server lets the processes work, whether it vouches for revocations, and who decided about them. */
export function measureRedis(
  { registry }: Metrics,
  { watches, revocationWatch }: RedisConnections,
  revocation: Revocation,
): void {
  new Gauge({
    name: 'integration_redis_usable',
    help: '1 while every process can use the Redis server',
    labelNames: ['redis'],
    aggregator: 'min',
    registers: [registry],
    collect() {
      for (const { name, trouble } of watches) this.set({ redis: name }, trouble() ? 0 : 1)
    },
  })
  new Gauge({
    name: 'integration_redis_trusted',
    help: '1 while Redis vouches for revocations; else Postgres decides',
    aggregator: 'min',
    registers: [registry],
    collect() {
      this.set(revocationWatch.vouches() ? 1 : 0)
    },
  })
  new Counter({
    name: 'integration_revocation_decisions_total',
    help: 'Questions about a revocation, by the store that decided; neither: the answer was 503',
    labelNames: ['by'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [by, count] of Object.entries(revocation.counts())) this.inc({ by }, count)
    },
  })
}
