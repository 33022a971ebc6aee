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
import { insertRevokedSigningKey } from '#shared/revocation/records.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'

export type SigningAlg = 'ES256' | 'RS256'

/** A row of signing_keys, with its revocation. The private key is still encrypted. */
export interface StoredSigningKey {
  kid: string
  alg: SigningAlg
  publicJwk: JWK
  privateKeyEncrypted: Buffer
  createdAt: Date
  activatesAt: Date
  revokedAt: Date | null
}

/**
 * `next`: published, does not sign yet. `active`: signs. `retired`: published while a token of it can live.
 * `gone`: no longer published.
 */
export type SigningKeyState = 'next' | 'active' | 'retired' | 'gone' | 'revoked'

/** How long a new key is published before it signs: longer than anyone caches the JWKS, with clocks apart. */
export const PUBLISH_AHEAD_MS = 600_000

/** A token's life (900 s), the JWKS cache time (300 s), and clocks 120 s off on either side. */
export const KEEP_RETIRED_MS = (900 + 300 + 240) * 1_000

const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
const RSA_BITS = 2_048
const generate = promisify(generateKeyPair)

/** A stored private key does not open with the key encryption key that this process was given. */
export class SigningKeyUnreadable extends Error {}

/** What making a key takes. */
export interface SigningKeyOptions {
  alg: SigningAlg
  /** 32 bytes, which never enter the database. */
  encryptionKey: Buffer
  clock: Clock
}

/** Every key there ever was, the one that activates last at the end. */
export async function listSigningKeys(db: Queryable): Promise<StoredSigningKey[]> {
  const { rows } = await db.raw(
    `select k.kid, k.alg, k.public_jwk as "publicJwk", k.private_key_encrypted as "privateKeyEncrypted",
            k.created_at as "createdAt", k.activates_at as "activatesAt", r.revoked_at as "revokedAt"
     from signing_keys k left join revoked_signing_keys r using (kid)
     order by k.activates_at, k.created_at, k.kid`,
  )
  return rows
}

/**
 * The state of each key at `now`, which follows from the times in the table alone, so that all processes agree.
 * A key never signs again once another took over, also when that other is revoked: a key that was retired may
 * have left the caches of those who verify. A key revoked before its activation took over from nobody.
 */
export function signingKeyStates(
  keys: readonly StoredSigningKey[],
  now: number,
): { key: StoredSigningKey; state: SigningKeyState }[] {
  const line = keys.filter((key) => !(key.revokedAt && key.revokedAt < key.activatesAt))
  const newest = line.findLast((key) => key.activatesAt.getTime() <= now)
  const waiting = line.find((key) => key.activatesAt.getTime() > now && !key.revokedAt)
  const active = newest && !newest.revokedAt ? newest : waiting
  const state = (key: StoredSigningKey): SigningKeyState => {
    if (key.revokedAt) return 'revoked'
    if (key === active) return 'active'
    if (key.activatesAt.getTime() > now) return 'next'
    const successor = line[line.indexOf(key) + 1]
    return successor && successor.activatesAt.getTime() + KEEP_RETIRED_MS <= now ? 'gone' : 'retired'
  }
  return keys.map((key) => ({ key, state: state(key) }))
}

/**
 * Makes sure that there is a key to sign with, making one that signs at once when there is none: at the first
 * start, or after the active one was revoked and no next one waits.
 * @returns all keys, as listSigningKeys.
 */
export async function ensureActiveSigningKey(
  db: Database,
  options: SigningKeyOptions,
): Promise<StoredSigningKey[]> {
  const keys = await listSigningKeys(db)
  if (hasActive(keys, options.clock.now())) return keys
  return db.transaction(async (transaction) => {
    await transaction.raw(`select pg_advisory_xact_lock(hashtext('signing_keys'))`)
    const current = await listSigningKeys(transaction)
    const now = options.clock.now()
    if (hasActive(current, now)) return current
    const activatesAt = afterAll(current, now)
    await insertSigningKey(transaction, await newSigningKey({ ...options, activatesAt }))
    return listSigningKeys(transaction)
  })
}

/** A new key is the last in line, also where another process, with another clock, put the one before it. */
const afterAll = (keys: readonly StoredSigningKey[], time: number): Date =>
  new Date(Math.max(time, (keys.at(-1)?.activatesAt.getTime() ?? 0) + 1))

const hasActive = (keys: readonly StoredSigningKey[], now: number): boolean =>
  signingKeyStates(keys, now).some(({ state }) => state === 'active')

/**
 * Stores the key that takes over from the active one in 10 minutes; until then it is only published. No token is
 * refused at any moment of it.
 * @returns the new key.
 */
export async function rotateSigningKey(db: Database, options: SigningKeyOptions): Promise<StoredSigningKey> {
  const keys = await ensureActiveSigningKey(db, options)
  const now = options.clock.now()
  // With another key encryption key than the services', the new key would be one that they cannot use.
  const newest = keys.at(-1)
  if (newest) openSigningKey(newest, options.encryptionKey)
  const key = await newSigningKey({ ...options, activatesAt: afterAll(keys, now + PUBLISH_AHEAD_MS) })
  await insertSigningKey(db, key)
  return key
}

/**
 * Marks a key as revoked, for ever; again is no error. Only the owner of the tables may. Call it as the commit of
 * `Revocation.revoke({ kind: 'key', id: kid })`, or processes keep accepting its tokens.
 * @returns false when there is no such key.
 */
export async function markSigningKeyRevoked(db: Queryable, kid: string): Promise<boolean> {
  const { rowCount } = await db.raw('select from signing_keys where kid = ?', [kid])
  if (rowCount === 0) return false
  await insertRevokedSigningKey(db, kid)
  return true
}

async function insertSigningKey(db: Queryable, key: StoredSigningKey): Promise<void> {
  await db.raw(
    `insert into signing_keys (kid, alg, public_jwk, private_key_encrypted, created_at, activates_at)
     values (?, ?, ?, ?, ?, ?)`,
    [
      key.kid,
      key.alg,
      JSON.stringify(key.publicJwk),
      key.privateKeyEncrypted,
      key.createdAt,
      key.activatesAt,
    ],
  )
}

/**
 * A new key pair, its private half encrypted; nothing is stored. The kid is its RFC 7638 thumbprint, and never begins
 * with a hyphen: a command that is given it in a hurry would take it for an option.
 */
export async function newSigningKey({
  alg,
  encryptionKey,
  clock,
  activatesAt,
}: SigningKeyOptions & { activatesAt: Date }): Promise<StoredSigningKey> {
  const { kid, jwk, privateKey } = await newKeyPair(alg)
  return {
    kid,
    alg,
    publicJwk: { ...jwk, kid, alg, use: 'sig' },
    privateKeyEncrypted: encrypt(privateKey, kid, encryptionKey),
    createdAt: new Date(clock.now()),
    activatesAt,
    revokedAt: null,
  }
}

async function newKeyPair(alg: SigningAlg): Promise<{ kid: string; jwk: JWK; privateKey: KeyObject }> {
  const { publicKey, privateKey } =
    alg === 'ES256'
      ? await generate('ec', { namedCurve: 'P-256' })
      : await generate('rsa', { modulusLength: RSA_BITS })
  const jwk = publicKey.export({ format: 'jwk' }) as JWK
  const kid = await calculateJwkThumbprint(jwk)
  return kid.startsWith('-') ? newKeyPair(alg) : { kid, jwk, privateKey }
}

function encrypt(privateKey: KeyObject, kid: string, encryptionKey: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', checked(encryptionKey), nonce).setAAD(Buffer.from(kid))
  const plain = privateKey.export({ format: 'der', type: 'pkcs8' })
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/**
 * Decrypts a private key and derives its public half from it. What the table says is public is not believed: only
 * who has the key encryption key can add a key that is published, not everyone who can write the table.
 * @throws SigningKeyUnreadable when it was encrypted with another key, for another kid, or altered.
 */
export function openSigningKey(
  key: StoredSigningKey,
  encryptionKey: Buffer,
): { privateKey: KeyObject; publicJwk: JWK } {
  const sealed = key.privateKeyEncrypted
  try {
    const nonce = sealed.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', checked(encryptionKey), nonce, {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(key.kid)).setAuthTag(sealed.subarray(-TAG_BYTES))
    const plain = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
    const privateKey = createPrivateKey({ key: plain, format: 'der', type: 'pkcs8' })
    const jwk = createPublicKey(privateKey).export({ format: 'jwk' }) as JWK
    return { privateKey, publicJwk: { ...jwk, kid: key.kid, alg: key.alg, use: 'sig' } }
  } catch {
    throw new SigningKeyUnreadable(
      `The signing key ${key.kid} cannot be decrypted. Is KEY_ENCRYPTION_KEY the one that it was stored with?`,
    )
  }
}

function checked(encryptionKey: Buffer): Buffer {
  if (encryptionKey.length !== KEY_BYTES) throw new Error('a key encryption key is 32 bytes')
  return encryptionKey
}
