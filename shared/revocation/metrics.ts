import { Counter, Gauge } from 'prom-client'
import type { Metrics } from '#shared/process/metrics.ts'
import type { RedisConnections } from '#shared/stores/redis-watch.ts'
import type { Revocation } from './revocation.ts'

/** Whether each Redis server lets the processes work, whether it vouches for revocations, and who decided about them. */
export function measureRedis({ registry }: Metrics, redis: RedisConnections, revocation: Revocation): void {
  new Gauge({
    name: 'integration_redis_usable',
    help: '1 while every process can use the Redis server',
    labelNames: ['redis'],
    aggregator: 'min',
    registers: [registry],
    collect() {
      for (const { name, trouble } of redis.watches) this.set({ redis: name }, trouble() ? 0 : 1)
    },
  })
  new Gauge({
    name: 'integration_redis_trusted',
    help: '1 while Redis vouches for revocations; else Postgres decides',
    aggregator: 'min',
    registers: [registry],
    collect() {
      this.set(redis.revocationWatch.vouches() ? 1 : 0)
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
