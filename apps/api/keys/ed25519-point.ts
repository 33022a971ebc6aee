const P = 2n ** 255n - 19n
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n
const ORDER_8_Y = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n
/**
 * The y of the points whose order divides 8. With such a point as public key, anyone can forge signatures.
 */
const UNSAFE_Y = new Set([0n, 1n, P - 1n, ORDER_8_Y, P - ORDER_8_Y])

/** Returns whether 32 bytes encode a safe point (RFC 8032 §5.1.3), which OpenSSL does not check on import. */
export function isSafeEd25519Point(bytes: Buffer): boolean {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`) % 2n ** 255n
  if (y >= P || UNSAFE_Y.has(y)) return false
  // x² = (y² − 1) / (dy² + 1) has a root if this product has one, which is Euler's criterion.
  return power(((y * y - 1n) * (D * y * y + 1n)) % P, (P - 1n) / 2n) === 1n
}

/** Returns base^exponent modulo P. */
function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let square = base, bits = exponent; bits > 0n; bits >>= 1n, square = (square * square) % P)
    if (bits & 1n) result = (result * square) % P
  return result
}
