import type { Clock } from '#shared/process/clock.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'

/* How finely the use of a client is counted, and how much of it is shown. */
export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
export const HOURS_SHOWN = 14 * 24
export const MINUTES_SHOWN = 60
export const ADDRESSES_SHOWN = 20
export const DAYS_SHOWN = HOURS_SHOWN / 24

export interface UsageStores {
  redis: Redis
  db: Queryable
  clock: Clock
}
