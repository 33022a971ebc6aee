import type { Clock } from '#shared/process/clock.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { RedisOrCluster } from '#shared/stores/redis.ts'

/* The periods by which usage is counted, and how many of them are shown. */
export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
export const HOURS_SHOWN = 14 * 24
export const MINUTES_SHOWN = 60
export const ADDRESSES_SHOWN = 20
export const DAYS_SHOWN = HOURS_SHOWN / 24

export interface UsageStores {
  redis: RedisOrCluster
  db: Queryable
  clock: Clock
}
