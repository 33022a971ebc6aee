import type { Metrics, Sample } from '#shared/process/metrics.ts'
import type { Database } from './postgres.ts'
import type { RateLimit } from './rate-limit.ts'
import type { RedisWatch } from './redis-watch.ts'

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
      pools.flatMap(([pool, of]): Sample[] => [
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

/** Whether each Redis server lets the processes work, and whether it vouches for revocations. */
export function measureRedis(
  metrics: Metrics,
  watched: Record<string, RedisWatch>,
  revocation: RedisWatch,
): void {
  metrics.gauge(
    { name: 'redis_usable', help: '1 while every process can use the Redis server', labels: ['redis'] },
    'min',
    () =>
      Object.entries(watched).map(([redis, watch]) => ({
        labels: { redis },
        value: watch.trouble() === undefined ? 1 : 0,
      })),
  )
  metrics.gauge(
    { name: 'redis_trusted', help: '1 while Redis vouches for revocations; else Postgres decides' },
    'min',
    () => [{ value: revocation.vouches() ? 1 : 0 }],
  )
}

/** @returns what makes a limit count the requests that it refuses. */
export function createHitCounter(metrics: Metrics): <L extends RateLimit>(limit: L) => L {
  const hit = metrics.counter({
    name: 'rate_limit_hits_total',
    help: 'Times that a rate limit was exceeded',
    labels: ['limit'],
  })
  return (limit) => {
    const labels = { limit: limit.policy.name }
    return {
      ...limit,
      async consume(subject: string, weight?: number) {
        const verdict = await limit.consume(subject, weight)
        if (!verdict.allowed) hit(labels)
        return verdict
      },
    }
  }
}
