import { createHash, createPublicKey, type JsonWebKey } from 'node:crypto'
import type { JWK } from 'jose'
import { z } from 'zod'
import type { NewKey } from '#shared/oauth/clients.ts'

/** Members that only private and shared keys have (RFC 7518 §6.2.2, §6.3.2 and §6.4, RFC 8037 §2). */
const SECRET_MEMBERS = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])

const base64url = (pattern: RegExp, rule: string) =>
  z.string(rule).regex(pattern, { error: rule, abort: true })

const numberIn = (text: string): bigint => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`)

const COORDINATE_RULE = 'must be 32 bytes in base64url, without padding'
const MODULUS_RULE = 'must be an odd number of 2,048 to 4,096 bits, in base64url without padding'
const EXPONENT_RULE = 'must be an odd number from 65,537 to 2,147,483,647, in base64url without padding'

const coordinate = base64url(/^[A-Za-z0-9_-]{43}$/, COORDINATE_RULE)
// Longer texts start with a zero byte, which some libraries add.
const modulus = base64url(/^[A-Za-z0-9_-]{342,684}$/, MODULUS_RULE).refine((text) => {
  const n = numberIn(text)
  return n >= 2n ** 2_047n && n < 2n ** 4_096n && n % 2n === 1n
}, MODULUS_RULE)
// A large one would make each verification as slow as a signature, and Go takes none above 31 bits.
const exponent = base64url(/^[A-Za-z0-9_-]{4,8}$/, EXPONENT_RULE).refine((text) => {
  const e = numberIn(text)
  return e >= 65_537n && e < 2n ** 31n && e % 2n === 1n
}, EXPONENT_RULE)

const EcPublicKey = z
  .object({
    kty: z.literal('EC'),
    crv: z.literal('P-256', 'must be P-256'),
    x: coordinate,
    y: coordinate,
  })
  .refine(isImported, 'must be a point on P-256')
  .meta({ id: 'EcPublicKey', description: 'For ES256.' })

const EdPublicKey = z
  .object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519', 'must be Ed25519'),
    x: coordinate.refine(isSafeOnEd25519, 'must be a point on Ed25519'),
  })
  .meta({ id: 'EdPublicKey', description: 'For Ed25519, also called EdDSA.' })

const RsaPublicKey = z
  .object({ kty: z.literal('RSA'), n: modulus, e: exponent })
  .meta({ id: 'RsaPublicKey', description: 'For PS256 and RS256.' })

type PublicKey = z.infer<typeof EcPublicKey | typeof EdPublicKey | typeof RsaPublicKey>

/**
 * A public JWK. It is parsed to its required members in canonical form, and its thumbprint. A key with a secret member
 * is refused for that alone.
 */
export const publicKey = z.preprocess(
  refuseSecrets,
  z
    .discriminatedUnion('kty', [EcPublicKey, EdPublicKey, RsaPublicKey], {
      error: ({ code }) => (code === 'invalid_union' ? 'must be EC, OKP or RSA' : undefined),
    })
    .transform(named),
)

function refuseSecrets(sent: unknown, context: z.RefinementCtx): unknown {
  for (const name of typeof sent === 'object' && sent !== null ? Object.keys(sent) : []) {
    if (!SECRET_MEMBERS.has(name)) continue
    const message =
      'is secret and must not leave your system: create a new key pair, and send only its public key'
    context.addIssue({ code: 'custom', path: [name], message })
  }
  return sent
}

function isImported(key: JsonWebKey): boolean {
  try {
    createPublicKey({ key, format: 'jwk' })
    return true
  } catch {
    return false
  }
}

function named(key: PublicKey): NewKey {
  const jwk = createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' }) as JWK
  // RFC 7638 §3.3: an exported public key has only the required members, which are hashed in order of their names.
  const hashed = JSON.stringify(jwk, Object.keys(jwk).sort())
  return { publicKey: jwk, keyThumbprint: createHash('sha256').update(hashed).digest('base64url') }
}

const P = 2n ** 255n - 19n
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n
const ORDER_8_Y = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n
/** Anyone can sign for the points whose order divides 8. They have these y. */
const UNSAFE_Y = new Set([0n, 1n, P - 1n, ORDER_8_Y, P - ORDER_8_Y])

/** Decodes y as RFC 8032 §5.1.3 does, because OpenSSL imports any 32 bytes. */
function isSafeOnEd25519(x: string): boolean {
  const encoded = Buffer.from(x, 'base64url').reverse()
  const y = BigInt(`0x${encoded.toString('hex')}`) % 2n ** 255n
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
