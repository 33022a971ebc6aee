import {
  addressSubject,
  type RateLimit,
  type RateLimitPolicy,
  type RateLimitVerdict,
} from '#shared/stores/rate-limit.ts'

/** The limits of an address, and of the IPv6 networks around it. */
export type AddressLimits = Record<64 | 56 | 48, RateLimit>

/** Returns limits with twice as much for a /56, and four times for a /48. */
export function addressLimits(
  limitOf: (name: string, policy: Omit<RateLimitPolicy, 'name'>) => RateLimit,
  [narrow, wider, widest]: [string, string, string],
  { limit, window_s }: Omit<RateLimitPolicy, 'name'>,
): AddressLimits {
  return {
    64: limitOf(narrow, { limit, window_s }),
    56: limitOf(wider, { limit: limit * 2, window_s }),
    48: limitOf(widest, { limit: limit * 4, window_s }),
  }
}

/** Counts `weight`. Returns the verdict of the first limit that refuses, or else that of the address. */
export async function consumeAddress(
  limits: AddressLimits,
  address: string,
  weight = 1,
): Promise<RateLimitVerdict> {
  const addressVerdict = await limits[64].consume(addressSubject(address), weight)
  if (!addressVerdict.allowed || !address.includes(':')) return addressVerdict
  for (const bits of [56, 48] as const) {
    const verdict = await limits[bits].consume(addressSubject(address, bits), weight)
    if (!verdict.allowed) return verdict
  }
  return addressVerdict
}
