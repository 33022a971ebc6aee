import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { redisKeys } from './redis-keys.ts'

/** At most `limit` per `window_s` for each subject. */
export interface RateLimitPolicy {
  name: string
  limit: number
  window_s: number
}

export interface RateLimitVerdict {
  allowed: boolean
  policy: RateLimitPolicy
  remaining: number
  /** Seconds until the window ends, at least 1. */
  reset_s: number
}

export interface RateLimit {
  readonly policy: RateLimitPolicy
  /** Counts one. Never rejects: without Redis the same rate is kept in this process. */
  consume(subject: string): Promise<RateLimitVerdict>
}

export function createRateLimit({ redis, policy }: { redis: Redis; policy: RateLimitPolicy }): RateLimit {
  const rate = { points: policy.limit, duration: policy.window_s }
  const limiter = new RateLimiterRedis({
    ...rate,
    storeClient: redis,
    keyPrefix: redisKeys.rateLimit(policy.name),
    rejectIfRedisNotReady: true,
    insuranceLimiter: new RateLimiterMemory(rate),
  })
  const verdict = (result: RateLimiterRes, allowed: boolean): RateLimitVerdict => ({
    allowed,
    policy,
    remaining: Math.max(0, result.remainingPoints),
    reset_s: Math.max(1, Math.ceil(result.msBeforeNext / 1_000)),
  })
  return {
    policy,
    async consume(subject) {
      try {
        return verdict(await limiter.consume(subject), true)
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return verdict(refused, false)
        return { allowed: true, policy, remaining: policy.limit, reset_s: policy.window_s }
      }
    },
  }
}

/** The header fields of draft-ietf-httpapi-ratelimit-headers-10, and Retry-After (RFC 9110 §10.2.3) when refused. */
export function rateLimitHeaders({
  allowed,
  policy,
  remaining,
  reset_s,
}: RateLimitVerdict): Record<string, string> {
  return {
    'RateLimit-Policy': `"${policy.name}";q=${policy.limit};w=${policy.window_s}`,
    RateLimit: `"${policy.name}";r=${remaining};t=${reset_s}`,
    ...(allowed ? {} : { 'Retry-After': String(reset_s) }),
  }
}

/** What failures are counted by: an IPv4 address, or the /64 of an IPv6 one, which is what one person has. */
export function addressSubject(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const left = head ? head.split(':') : []
  const right = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array(Math.max(0, 8 - left.length - right.length)).fill('0')
  const groups = [...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
  return `${groups.join(':')}::/64`
}
