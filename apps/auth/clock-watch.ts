import type { Redis } from 'ioredis'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import { areApart, clockOffset_ms } from '#shared/revocation/clocks.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

const CHECK_EVERY_MS = 15_000

/** The wall clocks of the stores, in ms. */
export type StoreClocks = Record<'postgres' | 'redis', () => Promise<number>>

export const storeClocks = (db: Queryable, redis: Redis): StoreClocks => ({
  async postgres() {
    const { rows } = await db.raw('select extract(epoch from clock_timestamp()) * 1000 as now_ms')
    return Number(rows[0].now_ms)
  },
  async redis() {
    const [seconds = 0, microseconds = 0] = await redis.time()
    return Number(seconds) * 1_000 + Number(microseconds) / 1_000
  },
})

/**
 * Checks whether this process's clock can be trusted to date tokens, because a token dated far ahead would
 * outlive the entry that says it is revoked. The clock is wrong if it is more than two minutes off the clocks
 * of both stores, and right if it agrees with one of them, so a single wrong clock is outvoted. While that
 * cannot be decided, the last verdict holds; a first check that cannot decide says wrong.
 */
export function watchClock(parts: { clock: Clock; stores: StoreClocks; log: Log; every_ms?: number }) {
  const { clock, stores, log, every_ms = CHECK_EVERY_MS } = parts
  let isRight = true
  let isUndecided: boolean | undefined
  let offsets: { postgres_ms?: number | undefined; redis_ms?: number | undefined } = {}
  let checkedAt_ms = Number.NEGATIVE_INFINITY

  /** Returns how far a store's clock is ahead of ours, undefined if it cannot be read. */
  async function measureOffset_ms(read: () => Promise<number>): Promise<number | undefined> {
    const before_ms = clock.now()
    return read().then(
      (store_ms) => clockOffset_ms(store_ms, { before_ms, after_ms: clock.now() }),
      () => undefined,
    )
  }

  /** Never rejects. */
  async function check(): Promise<void> {
    checkedAt_ms = performance.now()
    const [postgres_ms, redis_ms] = await Promise.all([stores.postgres, stores.redis].map(measureOffset_ms))
    const readings = [postgres_ms, redis_ms].filter((ahead_ms) => ahead_ms !== undefined)
    const agrees = readings.some((ahead_ms) => !areApart({ postgres_ms: ahead_ms, redis_ms: 0 }))
    const wasUndecided = isUndecided
    isUndecided = !agrees && readings.length < 2
    if (!isUndecided || wasUndecided === undefined) isRight = agrees
    offsets = { postgres_ms, redis_ms }
    if (isUndecided && wasUndecided) return
    if (!isRight) log.error({ event: 'clock.wrong', ...offsets }, 'no tokens: no store agrees on the time')
    else if (isUndecided) log.warn({ event: 'clock.unknown', ...offsets }, 'this clock cannot be checked')
  }

  return {
    isRight: () => isRight,
    /** Returns how far each store's clock was ahead at the last check. */
    offsets: () => offsets,
    check,
    /** Checks if the last check was 15 s ago or could not decide. Call it about once a second. */
    poll(): void {
      if (isUndecided || performance.now() - checkedAt_ms >= every_ms) void check()
    },
  }
}

export type ClockWatch = ReturnType<typeof watchClock>
