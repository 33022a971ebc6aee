import { createHash, createPublicKey, type JsonWebKey } from 'node:crypto'
import type { JWK } from 'jose'
import { z } from 'zod'
import { isSafeEd25519Point } from './ed25519-point.ts'

/** The key of a new client. */
export interface NewKey {
  /** The public JWK, with nothing private in it. */
  publicKey: JWK
  /** RFC 7638, by SHA-256, in base64url. */
  keyThumbprint: string
}

/** Members that only private and shared keys have (RFC 7518 §6.2.2, §6.3.2 and §6.4, RFC 8037 §2). */
export const SECRET_MEMBERS = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])

const base64url = (pattern: RegExp, rule: string) =>
  z.string(rule).regex(pattern, { error: rule, abort: true })

const numberIn = (text: string): bigint => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`)

const COORDINATE_RULE = 'must be 32 bytes in base64url, without padding'
/** NIST SP 800-89 §5.3.3: a modulus has no smaller factor. */
const FACTOR_MIN = 752
const MODULUS_RULE = `must be a number of 2,048 to 4,096 bits without a factor below ${FACTOR_MIN}, in base64url without padding`
const EXPONENT_RULE = 'must have the exponent 65,537 (AQAB)'

const coordinate = base64url(/^[A-Za-z0-9_-]{43}$/, COORDINATE_RULE)
// Some libraries add leading zero bytes, so a longer text may still be in range.
const modulus = base64url(/^[A-Za-z0-9_-]{342,684}$/, MODULUS_RULE).refine((text) => {
  const n = numberIn(text)
  return n >= 2n ** 2_047n && n < 2n ** 4_096n && !hasSmallFactor(n)
}, MODULUS_RULE)
// Every generator's default. A large exponent would make each verification as slow as a signature.
const exponent = base64url(/^[A-Za-z0-9_-]{4,8}$/, EXPONENT_RULE).refine(
  (text) => numberIn(text) === 65_537n,
  EXPONENT_RULE,
)

const isPrime = (n: number): boolean => {
  for (let factor = 2; factor * factor <= n; factor += 1) if (n % factor === 0) return false
  return n > 1
}

const SMALL_PRIMES = Array.from({ length: FACTOR_MIN }, (_, n) => n).filter(isPrime)

/** In groups whose product a number holds exactly, since dividing a modulus is what takes time. */
const PRIME_GROUPS = Array.from({ length: Math.ceil(SMALL_PRIMES.length / 5) }, (_, at) => {
  const primes = SMALL_PRIMES.slice(5 * at, 5 * at + 5)
  return { primes, product: BigInt(primes.reduce((product, prime) => product * prime)) }
})

const hasSmallFactor = (n: bigint): boolean =>
  PRIME_GROUPS.some(({ primes, product }) => {
    const rest = Number(n % product)
    return primes.some((prime) => rest % prime === 0)
  })

export const EcPublicKey = z
  .object({
    kty: z.literal('EC'),
    crv: z.literal('P-256', 'must be P-256'),
    x: coordinate,
    y: coordinate,
  })
  .refine(canImport, 'must be a point on P-256')
  .meta({ id: 'EcPublicKey', description: 'For ES256.' })

export const EdPublicKey = z
  .object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519', 'must be Ed25519'),
    x: coordinate.refine(
      (x) => isSafeEd25519Point(Buffer.from(x, 'base64url')),
      'must be a point on Ed25519',
    ),
  })
  .meta({ id: 'EdPublicKey', description: 'For Ed25519, also called EdDSA.' })

export const RsaPublicKey = z
  .object({ kty: z.literal('RSA'), n: modulus, e: exponent })
  .meta({ id: 'RsaPublicKey', description: 'For PS256 and RS256.' })

type PublicKey = z.infer<typeof EcPublicKey | typeof EdPublicKey | typeof RsaPublicKey>

/** A certificate with those of its authorities, of 4,096 bits each. */
const PEM_MAX_CHARACTERS = 16_000
const PEM = /^-----BEGIN ((?:RSA )?PUBLIC KEY|CERTIFICATE)-----[A-Za-z0-9+/=\s]+-----END \1-----/

/**
 * A public key, as a JWK, or in PEM: as SubjectPublicKeyInfo, in PKCS #1 or in an X.509 certificate, of which
 * only the key counts. It is parsed to its canonical JWK, which has only the required members, and its
 * thumbprint. Any key with a secret member is refused.
 */
export const publicKey = z.preprocess(
  (input, context) => (typeof input === 'string' ? parsePem(input, context) : refuseSecrets(input, context)),
  z
    .discriminatedUnion('kty', [EcPublicKey, EdPublicKey, RsaPublicKey], {
      error: ({ code }) => (code === 'invalid_union' ? 'must be EC, OKP or RSA' : undefined),
    })
    .transform(withThumbprint),
)

const SECRET =
  'is secret and must never leave your system: destroy it, create a new key pair, and send only its public key'

/** Returns the key's JWK; of a chain of certificates, that of the first, which is its owner's. */
function parsePem(text: string, context: z.RefinementCtx): unknown {
  const refuse = (message: string) => context.addIssue({ code: 'custom', message })
  if (text.includes('PRIVATE KEY')) return refuse(SECRET)
  const pem = text.trim()
  const [block, label] = (pem.length <= PEM_MAX_CHARACTERS && PEM.exec(pem)) || []
  if (!block || (label !== 'CERTIFICATE' && block !== pem))
    return refuse(
      'must be one public key: as a JWK, or in PEM that begins with -----BEGIN PUBLIC KEY----- or -----BEGIN CERTIFICATE-----',
    )
  try {
    return createPublicKey(block).export({ format: 'jwk' })
  } catch {
    return refuse('must be an EC, Ed25519 or RSA key if it is in PEM')
  }
}

function refuseSecrets(input: unknown, context: z.RefinementCtx): unknown {
  if (typeof input === 'object' && input && 'keys' in input && Array.isArray(input.keys)) {
    const hasSecret = input.keys.some((key) =>
      Object.keys(key ?? {}).some((name) => SECRET_MEMBERS.has(name)),
    )
    const message = hasSecret
      ? `is a JWK Set with a key that ${SECRET}`
      : 'is a JWK Set: send one of the keys in it'
    return context.addIssue({ code: 'custom', message })
  }
  for (const name of typeof input === 'object' && input !== null ? Object.keys(input) : []) {
    if (!SECRET_MEMBERS.has(name)) continue
    context.addIssue({ code: 'custom', path: [name], message: SECRET })
  }
  return input
}

export function canImport(key: JsonWebKey): boolean {
  try {
    createPublicKey({ key, format: 'jwk' })
    return true
  } catch {
    return false
  }
}

function withThumbprint(key: PublicKey): NewKey {
  const jwk = createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' }) as JWK
  // RFC 7638 §3.3 hashes the required members, which are all that Node.js exports, in order of their names.
  const members = JSON.stringify(jwk, Object.keys(jwk).sort())
  return { publicKey: jwk, keyThumbprint: createHash('sha256').update(members).digest('base64url') }
}
