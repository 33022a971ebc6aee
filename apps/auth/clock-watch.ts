import type { Redis } from 'ioredis'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import { areApart, clockOffset_ms } from '#shared/revocation/clocks.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

const CHECK_EVERY_MS = 15_000
/** While neither store's clock agrees with this one and one of them cannot be read. */
const CHECK_UNKNOWN_MS = 1_000

/** The wall clocks of the stores, in ms. */
export interface StoreClocks {
  postgres(): Promise<number>
  redis(): Promise<number>
}

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
 * Watches whether this process may date tokens. One that is dated far ahead would outlive the entry that says it is
 * revoked. The clock is wrong when it is more than two minutes away from those of both stores, and right as soon as
 * one of them agrees: of three clocks, one wrong one is outvoted. While that cannot be told, the last verdict stands.
 */
export function watchClock({
  clock,
  stores,
  log,
  every_ms = CHECK_EVERY_MS,
  everyUnknown_ms = CHECK_UNKNOWN_MS,
}: {
  clock: Clock
  stores: StoreClocks
  log: Log
  every_ms?: number
  everyUnknown_ms?: number
}) {
  let right = true
  let unknown = false
  let offsets: { postgres_ms?: number | undefined; redis_ms?: number | undefined } = {}

  /** How far the other clock is ahead; undefined when it cannot be read. */
  async function offsetOf(read: () => Promise<number>): Promise<number | undefined> {
    const before_ms = clock.now()
    return read().then(
      (theirs_ms) => clockOffset_ms(theirs_ms, { before_ms, after_ms: clock.now() }),
      () => undefined,
    )
  }

  /** Never rejects. */
  async function check(): Promise<void> {
    const [postgres_ms, redis_ms] = await Promise.all([offsetOf(stores.postgres), offsetOf(stores.redis)])
    const known = [postgres_ms, redis_ms].filter((ahead_ms) => ahead_ms !== undefined)
    const agrees = known.some((ahead_ms) => !areApart({ postgres_ms: ahead_ms, redis_ms: 0 }))
    const wasUnknown = unknown
    unknown = !agrees && known.length < 2
    if (!unknown) right = agrees
    offsets = { postgres_ms, redis_ms }
    if (!right) log.error({ event: 'clock.wrong', ...offsets }, 'no tokens: this clock is minutes off')
    else if (unknown && !wasUnknown)
      log.warn({ event: 'clock.unknown', ...offsets }, 'this clock cannot be checked')
  }

  return {
    isRight: () => right,
    /** How far each store's clock was ahead at the last look. */
    offsets: () => offsets,
    check,
    /** Checks now, and from then on every 15 s; every second while it cannot be told. @returns what ends that. */
    async start() {
      await check()
      let checkedAt_ms = performance.now()
      const timer = setInterval(() => {
        if (performance.now() - checkedAt_ms < (unknown ? everyUnknown_ms : every_ms)) return
        checkedAt_ms = performance.now()
        void check()
      }, everyUnknown_ms).unref()
      return () => clearInterval(timer)
    },
  }
}

export type ClockWatch = ReturnType<typeof watchClock>
