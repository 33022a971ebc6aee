import type { Metrics } from '#shared/process/metrics.ts'
import type { Database } from './postgres.ts'

/** What is used of tarn's pool, which knex has no type for. */
type Pool = Record<'numUsed' | 'numFree' | 'numPendingAcquires', () => number> & { max: number }

/** The connections of each pool, by its name. */
export function measurePools({ gauge }: Metrics, databases: Record<string, Database>): void {
  const pools = Object.entries(databases).map(([pool, db]) => [pool, db.client.pool as Pool] as const)
  const help = 'Postgres connections of the pools: used, free, or waited for'
  gauge('integration_postgres_connections', { help, labels: ['pool', 'state'], over: 'sum' }, (set) => {
    for (const [pool, of] of pools) {
      set(of.numUsed(), { pool, state: 'used' })
      set(of.numFree(), { pool, state: 'free' })
      set(of.numPendingAcquires(), { pool, state: 'waiting' })
    }
  })
  const most = 'Most Postgres connections of the pools'
  gauge('integration_postgres_connections_max', { help: most, labels: ['pool'], over: 'sum' }, (set) => {
    for (const [pool, of] of pools) set(of.max, { pool })
  })
}
