import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { promisify } from 'node:util'
import { calculateJwkThumbprint, type JWK } from 'jose'
import type { Clock } from '#shared/process/clock.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'

export type SigningAlg = 'ES256' | 'RS256'

/** A row of signing_keys, with its revocation. The private key is still encrypted. */
export interface StoredSigningKey {
  kid: string
  alg: SigningAlg
  publicJwk: JWK
  privateKeyEncrypted: Buffer
  createdAt: Date
  /** When it begins to sign; null for a standby key. */
  activatesAt: Date | null
  revokedAt: Date | null
}

/**
 * `standby`: published, and signs as soon as the active key is rotated or revoked. There always is one, so a
 * verifier that caches the key set knows it long before its first token. `active`: signs. `retired`:
 * published while a token of it can live. `gone`: no longer published.
 */
export type SigningKeyState = 'standby' | 'active' | 'retired' | 'gone' | 'revoked'

/** A token's life (900 s), the JWKS cache time (300 s), and clocks 120 s off on either side. */
export const KEEP_RETIRED_MS = (900 + 300 + 240) * 1_000

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const RSA_BITS = 2_048
const generate = promisify(generateKeyPair)

export interface SigningKeyOptions {
  /** The algorithm of new keys. */
  alg: SigningAlg
  /** The newest, which encrypts, then older ones, which only decrypt; each 32 bytes. */
  encryptionKey: readonly Buffer[]
  clock: Clock
}

/** Returns every key there ever was, in the order in which they signed. Keys that never signed come last. */
export async function listSigningKeys(db: Queryable): Promise<StoredSigningKey[]> {
  const { rows } = await db.raw(
    `select k.kid, k.alg, k.public_jwk as "publicJwk", k.private_key_encrypted as "privateKeyEncrypted",
            k.created_at as "createdAt", k.activates_at as "activatesAt", r.revoked_at as "revokedAt"
     from signing_keys k left join revoked_signing_keys r using (kid)
     order by k.activates_at nulls last, k.created_at, k.kid`,
  )
  return rows
}

/**
 * Returns the state of each key at `now_ms`. It follows from the table alone, so all processes agree. A key
 * never signs again once another took over, even if that one is revoked: verifiers may have dropped it.
 */
export function signingKeyStates(
  keys: readonly StoredSigningKey[],
  now_ms: number,
): { key: StoredSigningKey; state: SigningKeyState }[] {
  const hasSigned = ({ activatesAt, revokedAt }: StoredSigningKey): boolean =>
    activatesAt !== null && activatesAt.getTime() <= now_ms && !(revokedAt && revokedAt < activatesAt)
  const signers = keys.filter(hasSigned)
  const newest = signers.at(-1)
  const standby = keys.find((key) => !hasSigned(key) && !key.revokedAt)
  const active = newest && !newest.revokedAt ? newest : standby
  const state = (key: StoredSigningKey): SigningKeyState => {
    if (key.revokedAt) return 'revoked'
    if (key === active) return 'active'
    if (!hasSigned(key)) return 'standby'
    const successor = signers[signers.indexOf(key) + 1]
    return successor?.activatesAt && successor.activatesAt.getTime() + KEEP_RETIRED_MS <= now_ms
      ? 'gone'
      : 'retired'
  }
  return keys.map((key) => ({ key, state: state(key) }))
}

/**
 * Creates the active or the standby key if it is missing: at the first start, and after a revocation, then
 * for the algorithm of the key before. Returns all keys, as listSigningKeys.
 */
export async function ensureSigningKeys(
  db: Database,
  options: SigningKeyOptions,
): Promise<StoredSigningKey[]> {
  const keys = await listSigningKeys(db)
  if (missingState(keys, options.clock.now()) === undefined) return keys
  return db.transaction(async (transaction) => {
    await lockSigningKeys(transaction)
    for (;;) {
      const current = await listSigningKeys(transaction)
      const now_ms = options.clock.now()
      const missing = missingState(current, now_ms)
      if (missing === undefined) return current
      const activatesAt = missing === 'active' ? nextActivation(current, now_ms) : null
      const alg = current.at(-1)?.alg ?? options.alg
      await insertSigningKey(transaction, await newSigningKey({ ...options, alg, activatesAt }))
    }
  })
}

/** Has transactions that change signing keys wait for each other. Rejects if Postgres fails. */
export async function lockSigningKeys(transaction: Queryable): Promise<void> {
  await transaction.raw(`select pg_advisory_xact_lock(hashtextextended('signing_keys', 0))`)
}

const missingState = (keys: readonly StoredSigningKey[], now_ms: number) =>
  (['active', 'standby'] as const).find((state) => !findKey(state, keys, now_ms))

/** Returns the key in this state. Clocks that differ may have created several: then the first one. */
export const findKey = (state: SigningKeyState, keys: readonly StoredSigningKey[], now_ms: number) =>
  signingKeyStates(keys, now_ms).find((entry) => entry.state === state)?.key

/** Returns from when a new key signs: after every other, even one that another clock activated. */
export function nextActivation(keys: readonly StoredSigningKey[], now_ms: number): Date {
  return new Date(Math.max(now_ms, ...keys.map(({ activatesAt }) => (activatesAt?.getTime() ?? 0) + 1)))
}

export async function insertSigningKey(db: Queryable, key: StoredSigningKey): Promise<void> {
  await db('signing_keys').insert({
    kid: key.kid,
    alg: key.alg,
    public_jwk: JSON.stringify(key.publicJwk),
    private_key_encrypted: key.privateKeyEncrypted,
    created_at: key.createdAt,
    activates_at: key.activatesAt,
  })
}

/**
 * Returns a new key pair with its private half encrypted; nothing is stored. The kid is its RFC 7638
 * thumbprint, and never begins with a hyphen: a command line would take it for an option.
 */
export async function newSigningKey(
  options: SigningKeyOptions & { activatesAt: Date | null },
): Promise<StoredSigningKey> {
  const { alg, encryptionKey, clock, activatesAt } = options
  const { publicKey, privateKey } =
    alg === 'ES256'
      ? await generate('ec', { namedCurve: 'P-256' })
      : await generate('rsa', { modulusLength: RSA_BITS })
  const kid = await calculateJwkThumbprint(publicKey.export({ format: 'jwk' }) as JWK)
  if (kid.startsWith('-')) return newSigningKey(options)
  return {
    kid,
    alg,
    publicJwk: toPublicJwk(publicKey, { kid, alg }),
    privateKeyEncrypted: encryptPrivateKey(privateKey, kid, encryptionKey),
    createdAt: new Date(clock.now()),
    activatesAt,
    revokedAt: null,
  }
}

/** Encrypts with the newest key; a copy of it under another kid does not decrypt. */
export function encryptPrivateKey(privateKey: KeyObject, kid: string, keys: readonly Buffer[]): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, keys[0] as Buffer, nonce).setAAD(Buffer.from(kid))
  const plain = privateKey.export({ format: 'der', type: 'pkcs8' })
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/**
 * Decrypts a private key and derives its public half from it. The public half in the table is not trusted:
 * being able to write the table is not enough to have a key published. That takes the key encryption key.
 * Returns undefined if it was encrypted with none of these keys, for another kid, or altered.
 */
export function decryptSigningKey(
  { kid, alg, privateKeyEncrypted: sealed }: StoredSigningKey,
  encryptionKeys: readonly Buffer[],
) {
  const [nonce, tag] = [sealed.subarray(0, NONCE_BYTES), sealed.subarray(-TAG_BYTES)]
  for (const encryptionKey of encryptionKeys) {
    try {
      const decipher = createDecipheriv(CIPHER, encryptionKey, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(kid)).setAuthTag(tag)
      const plain = [decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]
      const privateKey = createPrivateKey({ key: Buffer.concat(plain), format: 'der', type: 'pkcs8' })
      const publicKey = createPublicKey(privateKey)
      return { kid, alg, privateKey, publicKey, publicJwk: toPublicJwk(publicKey, { kid, alg }) }
    } catch {
      // Perhaps an older key encrypted it.
    }
  }
  return undefined
}

/** Returns the public key as a member of the JWK set (RFC 7517 §4). */
const toPublicJwk = (publicKey: KeyObject, about: { kid: string; alg: SigningAlg }): JWK => ({
  ...(publicKey.export({ format: 'jwk' }) as JWK),
  ...about,
  use: 'sig',
})
