import { redisLifetimes } from '#shared/stores/redis-keys.ts'

/**
 * The durations of asking and revoking; those of a round are in round-timings.ts. The protocol's safety rests on one
 * inequality, `settle_ms > lease_ms`, each measured by one process's own monotonic clock: the clocks may run apart by
 * a fifth, and may show any time.
 */
export const PRODUCTION_TIMINGS = Object.freeze({
  /** How long a marker is believed after its round began. */
  lease_ms: redisLifetimes.revocationMarker_ms,
  /** A revocation that Redis cannot vouch for is answered, and a newly named server trusted, after this long. */
  settle_ms: 6_000,
  /** A revocation that has not begun to commit by then is rejected. */
  commit_ms: 3_000,
  /** How long a revocation's entry stays in Redis: longer than any token or remembered record can matter. */
  entry_ms: redisLifetimes.revocationEntry_ms,
  /** The time between two ticks. */
  tick_ms: 1_000,
  /** How often a waiting revocation checks again whether Redis can vouch for it. */
  retry_ms: 500,
  /**
   * Clients that were revoked within this are copied: much longer than it matters, since Postgres' clock may have been
   * behind when one was revoked.
   */
  lookBack_ms: 24 * 3_600_000,
  /** What `ask` gives Postgres before it answers `undecided`. */
  askPostgres_ms: 1_000,
})

export type Timings = Record<keyof typeof PRODUCTION_TIMINGS, number>
