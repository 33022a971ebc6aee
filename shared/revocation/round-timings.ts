import { redisLifetimes } from '#shared/stores/redis-keys.ts'
import { PRODUCTION_TIMINGS, type Timings } from './timings.ts'

/** Every duration of the protocol. */
export interface RoundTimings extends Timings {
  /** A round's nonce stays in Redis: how long a process may rely on what it added before. */
  nonce_ms: number
  /** The time between two rounds of a process, varied by a fifth. */
  round_ms: number
  /** How often every entry is sent again, needed or not. */
  refill_ms: number
  /** A round that compares all that Redis holds with Postgres gives up after this long. Its nonce must last longer. */
  compare_ms: number
}

export const ROUND_TIMINGS: Readonly<RoundTimings> = Object.freeze({
  ...PRODUCTION_TIMINGS,
  nonce_ms: redisLifetimes.revocationNonce_ms,
  round_ms: 1_000,
  refill_ms: 30_000,
  compare_ms: 50_000,
})
