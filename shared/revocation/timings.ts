import { redisLifetimes } from '#shared/stores/redis-keys.ts'

/**
 * Every duration of the protocol. Its safety rests on one inequality, `settle_ms > lease_ms`, each measured
 * by one process's own monotonic clock: the clocks may run apart by a fifth, and may show any time.
 */
export const PRODUCTION_TIMINGS = Object.freeze({
  /** How long a marker is believed after its round began. */
  lease_ms: redisLifetimes.revocationMarker_ms,
  /** After this, a revocation that Redis cannot vouch for is answered, and a newly named server trusted. */
  settle_ms: 6_000,
  /** A revocation that has not begun to commit by then is rejected. */
  commit_ms: 3_000,
  /** How long a revocation's entry stays in Redis: longer than any token or cached record can matter. */
  entry_ms: redisLifetimes.revocationEntry_ms,
  /** The time between two ticks. */
  tick_ms: 1_000,
  /** How often a waiting revocation checks again whether Redis can vouch for it. */
  retry_ms: 500,
  /** Clients revoked within this are copied: longer than matters, as Postgres' clock may have been behind. */
  lookBack_ms: 24 * 3_600_000,
  /** How long `ask` waits for Postgres before it answers `undecided`. */
  askPostgres_ms: 1_000,
  /** A round's nonce stays in Redis: how long a process may rely on what it added before. */
  nonce_ms: redisLifetimes.revocationNonce_ms,
  /** The time between two rounds of a process, varied by a fifth. */
  round_ms: 1_000,
  /** How often every entry is sent again, needed or not. */
  refill_ms: 30_000,
  /** A round gives up comparing all that Redis holds after this long. Its nonce must last longer. */
  compare_ms: 50_000,
})

export type Timings = Record<keyof typeof PRODUCTION_TIMINGS, number>
