import { setNewest } from '#shared/process/bounded-map.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import { addressSubject, type RateLimit, type RateLimitVerdict } from '#shared/stores/rate-limit.ts'

const ADDRESSES_REMEMBERED = 10_000
/**
 * An address over its limit still gets one verification in so many milliseconds, so that a few forged tokens do not
 * shut out those who share it: only a flood does, which would take all of the CPU.
 */
const ONE_VERIFICATION_EVERY_MS = 20

export interface ForgeryLimit {
  /**
   * The verdict on an address that is over its limit, as this process knows it; undefined when it may have a token
   * verified. Asks no store.
   */
  over(clientAddress: string): RateLimitVerdict | undefined
  /** Counts a token with a wrong signature. Never rejects. */
  count(clientAddress: string): Promise<RateLimitVerdict>
}

/**
 * Limits the forged tokens of an address: to find that a signature is wrong costs as much as a whole good request.
 * They are counted for all processes together; each remembers which addresses are over their limit, until their
 * window ends, and learns it from a forged token that it counted itself.
 */
export function createForgeryLimit({
  rateLimit,
  log,
  clock,
  remembered = ADDRESSES_REMEMBERED,
}: {
  rateLimit: RateLimit
  log: Log
  clock: Clock
  remembered?: number
}): ForgeryLimit {
  interface Over {
    rate: RateLimitVerdict
    since_ms: number
    until_ms: number
    nextVerificationAt_ms: number
  }
  const addresses = new Map<string, Over>()

  return {
    over(clientAddress) {
      const subject = addressSubject(clientAddress)
      const found = addresses.get(subject)
      if (!found) return undefined
      const now_ms = clock.now()
      // A clock that was set back ends it too.
      if (now_ms < found.since_ms || now_ms >= found.until_ms) addresses.delete(subject)
      else if (now_ms < found.nextVerificationAt_ms)
        return { ...found.rate, reset_s: Math.ceil((found.until_ms - now_ms) / 1_000) }
      else found.nextVerificationAt_ms = now_ms + ONE_VERIFICATION_EVERY_MS
      return undefined
    },
    async count(clientAddress) {
      const subject = addressSubject(clientAddress)
      const rate = await rateLimit.consume(subject)
      if (rate.allowed || addresses.has(subject)) return rate
      log.warn({ address: subject, left_s: rate.reset_s }, 'too many forged tokens from an address')
      const now_ms = clock.now()
      const over = {
        rate,
        since_ms: now_ms,
        until_ms: now_ms + rate.reset_s * 1_000,
        nextVerificationAt_ms: now_ms + ONE_VERIFICATION_EVERY_MS,
      }
      setNewest(addresses, subject, over, remembered)
      return rate
    },
  }
}
