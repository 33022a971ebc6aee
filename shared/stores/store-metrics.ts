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
export function measurePools(metrics: Metrics, databases: Record<string, Database>): void {
  const pools = Object.entries(databases).map(([pool, db]) => [pool, db.client.pool as Pool] as const)
  metrics.gauge(
    {
      name: 'postgres_connections',
      help: 'Postgres connections of the pools: used, free, or waited for',
      labels: ['pool', 'state'],
    },
    'sum',
    () =>
      pools.flatMap(([pool, of]) => [
        { labels: { pool, state: 'used' }, value: of.numUsed() },
        { labels: { pool, state: 'free' }, value: of.numFree() },
        { labels: { pool, state: 'waiting' }, value: of.numPendingAcquires() },
      ]),
  )
  metrics.gauge(
    { name: 'postgres_connections_max', help: 'Most Postgres connections of the pools', labels: ['pool'] },
    'sum',
    () => pools.map(([pool, { max }]) => ({ labels: { pool }, value: max })),
  )
}

/** Whether each Redis server lets the processes work, whether it vouches for revocations, and who decided about them. */
export function measureRedis(
  metrics: Metrics,
  { watches, revocationWatch }: RedisConnections,
  revocation: Revocation,
): void {
  metrics.gauge(
    { name: 'redis_usable', help: '1 while every process can use the Redis server', labels: ['redis'] },
    'min',
    () => watches.map(({ name, trouble }) => ({ labels: { redis: name }, value: trouble() ? 0 : 1 })),
  )
  metrics.gauge(
    { name: 'redis_trusted', help: '1 while Redis vouches for revocations; else Postgres decides' },
    'min',
    () => [{ value: revocationWatch.vouches() ? 1 : 0 }],
  )
  metrics.counterOf(
    {
      name: 'revocation_decisions_total',
      help: 'Questions about a revocation, by the store that decided; neither: the answer was 503',
      labels: ['by'],
    },
    () => Object.entries(revocation.counts()).map(([by, value]) => ({ labels: { by }, value })),
  )
}
