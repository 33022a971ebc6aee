import type { Redis } from 'ioredis'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type AnsweredRequest, type ClientUsage, createClientUsage } from '#shared/usage/client-usage.ts'
import type { TestApi } from './api.ts'
import { forBlock } from './block.ts'
import { silentLog } from './log.ts'

/** Records usage of clients as one more process of a service. Nothing is stored until it is flushed. */
export const createTestUsage = (redis: Redis, db: Database, clock: Clock): ClientUsage =>
  createClientUsage({ redis, db, clock, log: silentLog() })

/** Stores requests of clients as the authorization server does, each call as another process. */
export function sharedUsage(api: TestApi) {
  const redis = forBlock(() => api.redis.connect('auth'))
  async function note(record: (usage: ClientUsage) => void): Promise<void> {
    const usage = createTestUsage(redis, api.apiDb, api.clock)
    record(usage)
    // A busy Postgres may take too long for one flush. What is stored is not sent again.
    for (const _ of [1, 2, 3]) await usage.flush()
    // Otherwise it would count as vanished a minute later.
    await usage.stop()
  }
  return {
    issued: (clientId: string, { scope = 'analytics:read', address = '192.0.2.1', times = 1 } = {}) =>
      note((usage) => {
        for (let time = 0; time < times; time += 1) usage.countToken(clientId, scope, address)
      }),
    answered: (...requests: AnsweredRequest[]) =>
      note((usage) => {
        for (const request of requests) usage.recordRequest(request)
      }),
  }
}
