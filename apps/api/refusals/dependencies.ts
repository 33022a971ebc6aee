import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import type { Manager } from '../http/manager.ts'
import type { Access } from '../http/route.ts'

export interface RefusalDependencies {
  db: Database
  redis: Redis
  clock: Clock
  manager: Access<Manager>
}
