import { performance } from 'node:perf_hooks'
import { addressSubject, type RateLimit, type RateLimitVerdict } from '#shared/rate-limit.ts'

const ADDRESSES_REMEMBERED = 10_000

export interface ForgeryLimit {
  /** The verdict on an address that is over its limit, as this process knows it. Asks no store. */
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
  monotonic = () => performance.now(),
  remembered = ADDRESSES_REMEMBERED,
}: {
  rateLimit: RateLimit
  monotonic?: () => number
  remembered?: number
}): ForgeryLimit {
  const addresses = new Map<string, { rate: RateLimitVerdict; until_ms: number }>()

  return {
    over(clientAddress) {
      const subject = addressSubject(clientAddress)
      const found = addresses.get(subject)
      if (!found) return undefined
      const left_ms = found.until_ms - monotonic()
      if (left_ms > 0) return { ...found.rate, reset_s: Math.ceil(left_ms / 1_000) }
      addresses.delete(subject)
      return undefined
    },
    async count(clientAddress) {
      const subject = addressSubject(clientAddress)
      const rate = await rateLimit.consume(subject)
      if (rate.allowed) return rate
      addresses.set(subject, { rate, until_ms: monotonic() + rate.reset_s * 1_000 })
      const [oldest] = addresses.size > remembered ? addresses.keys() : []
      if (oldest !== undefined) addresses.delete(oldest)
      return rate
    },
  }
}
