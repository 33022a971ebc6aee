import { redisLifetimes } from '#shared/stores/redis-keys.ts'

/**
 * Every duration of the protocol. Its safety rests on one inequality, `settle_ms > lease_ms`, each measured by one
 * process's own monotonic clock: the clocks may run apart by a fifth, and may show any time.
 */
export interface Timings {
  /** How long a marker is believed after its round began. */
  lease_ms: number
  /** A revocation that Redis cannot vouch for is answered, and a newly named server trusted, after this long. */
  settle_ms: number
  /** A revocation that has not begun to commit by then is rejected. */
  commit_ms: number
  /** How long a revocation's entry stays in Redis: longer than any token or remembered record can matter. */
  entry_ms: number
  /**
   * A round reads the clients that were revoked within this: much longer than it matters, since Postgres' clock may
   * have been behind when one was revoked.
   */
  lookBack_ms: number
  /** A round's nonce stays in Redis: how long a process may rely on what it added before. */
  nonce_ms: number
  /** The time between two rounds of a process, and between two ticks; varied by a fifth. */
  round_ms: number
  tick_ms: number
  /** How often every entry is sent again, needed or not. */
  refill_ms: number
  /** How often a waiting revocation checks again whether Redis can vouch for it. */
  retry_ms: number
  /** A round that compares all that Redis holds with Postgres gives up after this long. Its nonce must last longer. */
  compare_ms: number
  /** What `ask` gives Postgres before it answers `undecided`. */
  askPostgres_ms: number
}

export const PRODUCTION_TIMINGS: Readonly<Timings> = Object.freeze({
  lease_ms: redisLifetimes.revocationMarker_ms,
  settle_ms: 6_000,
  commit_ms: 3_000,
  entry_ms: redisLifetimes.revocationEntry_ms,
  lookBack_ms: 24 * 3_600_000,
  nonce_ms: redisLifetimes.revocationNonce_ms,
  round_ms: 1_000,
  tick_ms: 1_000,
  refill_ms: 30_000,
  retry_ms: 500,
  compare_ms: 50_000,
  askPostgres_ms: 1_000,
})
