const P = 2n ** 255n - 19n
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n
const ORDER_8_Y = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n
/** Anyone can sign for the points whose order divides 8. They have these y. */
const UNSAFE_Y = new Set([0n, 1n, P - 1n, ORDER_8_Y, P - ORDER_8_Y])

/** Returns whether these are the 32 bytes of a point that is safe, by RFC 8032 §5.1.3: OpenSSL imports any. */
export function isSafeOnEd25519(bytes: Buffer): boolean {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`) % 2n ** 255n
  if (y >= P || UNSAFE_Y.has(y)) return false
  // x² = (y² − 1) / (dy² + 1) has a root if this product has one, which is Euler's criterion.
  return power(((y * y - 1n) * (D * y * y + 1n)) % P, (P - 1n) / 2n) === 1n
}

/** Returns base^exponent modulo P. */
function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let square = base, left = exponent; left > 0n; left >>= 1n, square = (square * square) % P)
    if (left & 1n) result = (result * square) % P
  return result
}
