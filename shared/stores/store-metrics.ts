import { Gauge } from 'prom-client'
import type { Metrics } from '#shared/process/metrics.ts'
import type { Database } from './postgres.ts'

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
