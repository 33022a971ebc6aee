const P = 2n ** 255n - 19n
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n
const ORDER_8_Y = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n
/**
 * The y of the points of order 4 and 8. With a point whose order divides 8 as public key, anyone can forge
 * signatures. Those of order 1 and 2 have y = ±1, for which the product below is 0.
 */
const UNSAFE_Y = new Set([0n, ORDER_8_Y, P - ORDER_8_Y])

/** Returns whether 32 bytes encode a safe point (RFC 8032 §5.1.3), which OpenSSL does not check on import. */
export function isSafeEd25519Point(bytes: Buffer): boolean {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`) % 2n ** 255n
  if (y >= P || UNSAFE_Y.has(y)) return false
  // x² = (y² − 1) / (dy² + 1) has a root if this product has one, which is Euler's criterion.
  const z = ((y * y - 1n) * (D * y * y + 1n)) % P
  // (P − 1) / 2 = (2^250 − 1) · 2^4 + 6
  return (square(powerOfOnes(z, 250), 4) * z ** 6n) % P === 1n
}

/** Returns z^(2^bits − 1) modulo P, in half the multiplications of a general power. */
function powerOfOnes(z: bigint, bits: number): bigint {
  if (bits === 1) return z
  if (bits % 2 === 1) return (square(powerOfOnes(z, bits - 1), 1) * z) % P
  const half = powerOfOnes(z, bits / 2)
  return (square(half, bits / 2) * half) % P
}

/** Returns base^(2^times) modulo P. */
function square(base: bigint, times: number): bigint {
  let result = base
  for (let time = 0; time < times; time++) result = (result * result) % P
  return result
}
