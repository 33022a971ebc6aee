import type { Redis } from 'ioredis'
import { pino } from 'pino'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type ClientUsage, createClientUsage } from '#shared/usage/client-usage.ts'

/** The usage of clients as one more process of a service notes it. Nothing is stored until it is flushed. */
export const anotherUsage = (redis: Redis, db: Database, clock: Clock): ClientUsage =>
  createClientUsage({ redis, db, clock, log: pino({ level: 'silent' }) })
