import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import type { Database } from '#shared/postgres.ts'
import type { Redis } from '#shared/redis.ts'
import { deleteOldUsage, drainUsage } from '#shared/usage.ts'
import { CREATION_KEY_LIFETIME_MS, deleteExpiredCreations } from './clients/creation-keys.ts'
import { deleteExpiredSessions } from './sessions/sessions.ts'

const USAGE_EVERY_MS = 60_000
const PURGE_EVERY_MS = 600_000
/** At most so many rows a purge, so that none takes long. What is left goes the next time. */
const PURGE_ROWS = 5_000

export interface HousekeepingDependencies {
  db: Database
  redis: Redis
  clock: Clock
  log: Log
}

/**
 * What any process does beside the requests: stores usage each minute and removes what has expired. It may run in
 * every process at once, and a failure only means that it is done later.
 * @returns what ends it, when what is under way is done.
 */
export function startHousekeeping({ db, redis, clock, log }: HousekeepingDependencies): () => Promise<void> {
  const now = () => clock.now()
  const endings = [
    repeat(USAGE_EVERY_MS, 'storing usage', () => drainUsage({ redis, db })),
    repeat(PURGE_EVERY_MS, 'purging', async () => {
      await deleteExpiredSessions(db, { now: new Date(now()), limit: PURGE_ROWS })
      const before = new Date(now() - CREATION_KEY_LIFETIME_MS)
      await deleteExpiredCreations(db, { before, limit: PURGE_ROWS })
      await deleteOldUsage(db, { now: now(), limit: PURGE_ROWS })
    }),
  ]

  function repeat(every_ms: number, what: string, task: () => Promise<unknown>): () => Promise<void> {
    let running = Promise.resolve()
    const run = async () => {
      try {
        await task()
      } catch (error) {
        log.warn(
          { what, error: error instanceof Error ? error.message : String(error) },
          'housekeeping failed',
        )
      }
    }
    const timer = setInterval(() => {
      running = running.then(run)
    }, every_ms)
    timer.unref()
    return () => {
      clearInterval(timer)
      return running
    }
  }

  return async () => {
    await Promise.all(endings.map((end) => end()))
  }
}
