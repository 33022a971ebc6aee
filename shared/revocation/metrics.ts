import { Counter } from 'prom-client'
import type { Metrics } from '#shared/process/metrics.ts'
import type { RedisConnections } from '#shared/stores/redis-watch.ts'
import type { Revocation } from './revocation.ts'

/** Whether each Redis server lets the processes work, whether it vouches for revocations, and who decided about them. */
export function measureRedis(metrics: Metrics, redis: RedisConnections, revocation: Revocation): void {
  const usable = '1 while every process can use the Redis server'
  metrics.gauge('integration_redis_usable', { help: usable, labels: ['redis'], over: 'min' }, (set) => {
    for (const { name, trouble } of redis.watches) set(trouble() ? 0 : 1, { redis: name })
  })
  const trusted = '1 while Redis vouches for revocations; else Postgres decides'
  metrics.gauge('integration_redis_trusted', { help: trusted, over: 'min' }, (set) =>
    set(redis.revocationWatch.vouches() ? 1 : 0),
  )
  new Counter({
    name: 'integration_revocation_decisions_total',
    help: 'Questions about a revocation, by the store that decided; neither: the answer was 503',
    labelNames: ['by'],
    registers: [metrics.registry],
    collect() {
      this.reset()
      for (const [by, count] of Object.entries(revocation.counts())) this.inc({ by }, count)
    },
  })
}
