import type { Redis } from 'ioredis'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import { areApart, clockOffset_ms } from '#shared/revocation/clocks.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

const CHECK_EVERY_MS = 15_000

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
 * revoked. So the clock is wrong when both stores' clocks are more than two minutes away from it: of three
 * clocks, one wrong one is outvoted. A store that does not answer leaves the last verdict.
 */
export function watchClock({ clock, stores, log }: { clock: Clock; stores: StoreClocks; log: Log }) {
  let right = true
  const offsetOf = async (read: () => Promise<number>) => {
    const before_ms = clock.now()
    return clockOffset_ms(await read(), { before_ms, after_ms: clock.now() })
  }

  /** Never rejects. */
  async function check(): Promise<void> {
    const offsets = await Promise.all([offsetOf(stores.postgres), offsetOf(stores.redis)]).catch(() => [])
    const [postgres_ms, redis_ms] = offsets
    if (postgres_ms === undefined || redis_ms === undefined) return
    right = ![postgres_ms, redis_ms].every((ahead_ms) => areApart({ postgres_ms: ahead_ms, redis_ms: 0 }))
    if (!right)
      log.error({ event: 'clock.wrong', postgres_ms, redis_ms }, 'no tokens: this clock is minutes off')
  }

  return {
    isRight: () => right,
    check,
    /** Checks now, and from then on every 15 s. @returns what ends that. */
    async start() {
      await check()
      const timer = setInterval(check, CHECK_EVERY_MS).unref()
      return () => clearInterval(timer)
    },
  }
}

export type ClockWatch = ReturnType<typeof watchClock>
