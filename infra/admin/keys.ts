import { Option } from 'commander'
import {
  decryptSigningKey,
  encryptPrivateKey,
  ensureSigningKeys,
  findKey,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  newSigningKey,
  nextActivation,
  type SigningAlg,
  type SigningKeyOptions,
  type SigningKeyState,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import type { Clock } from '#shared/process/clock.ts'
import { insertRevokedSigningKey } from '#shared/revocation/state.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { type OperatorActor, recordActivity } from '../../apps/api/accounts/activity.ts'
import { type CommandGroup, formatTable, formatTime } from './commands.ts'
import { OperatorError } from './operator.ts'

/** How long a key must be on standby before it may sign: twice what a verifier may cache the key set for. */
export const STANDBY_MIN_MS = 600_000
const EXIT_UNREADABLE = 1
const TITLES = { kid: 'KEY ID', state: 'STATE', alg: 'ALG', activatesAt: 'SIGNS FROM', revokedAt: 'REVOKED' }

export const KEYS: CommandGroup = {
  name: 'key',
  plural: 'keys',
  description: 'Signing keys',
  commands: [
    {
      name: 'list',
      description: 'List the keys and their states',
      example: 'key list',
      async run({ db }) {
        const keys = (await readStates(db)).map(({ key, state }) => keyData(key, state))
        return { text: formatTable(keys, TITLES, 'There are no keys yet.'), data: keys }
      },
    },
    {
      name: 'rotate',
      description:
        'Make the standby key the signing key, and publish a new standby key for the same algorithm. No ' +
        'valid token is refused.',
      example: 'key rotate',
      options: [new Option('--alg <alg>', 'another algorithm for the new key').choices(['ES256', 'RS256'])],
      async run({ db, by, encryptionKey }, { alg }: { alg?: SigningAlg }) {
        const options = { alg, encryptionKey: await encryptionKey(), clock: await readClock(db), by }
        const { active, standby } = await rotateSigningKey(db, options)
        const state = active.activatesAt.getTime() <= options.clock.now() ? 'active' : 'standby'
        // A clock that was ahead may have activated the last one.
        const role =
          state === 'active' ? 'is now the signing key' : `signs from ${formatNextMinute(active.activatesAt)}`
        return {
          text: `${active.kid} ${role}; ${standby.kid} is the standby key.`,
          data: { active: keyData(active, state), standby: keyData(standby, 'standby') },
        }
      },
    },
    {
      name: 'reencrypt',
      description:
        'Encrypt all private signing keys with the first key in KEY_ENCRYPTION_KEY, which lists the new ' +
        'key and then the older ones, separated by commas. Once the command returns, you no longer need ' +
        'the older ones.',
      example: 'key reencrypt',
      async run({ db, by, encryptionKey }) {
        const { rewritten, unreadable } = await reencryptSigningKeys(db, { keys: await encryptionKey(), by })
        const text = `Re-encrypted: ${rewritten.length}.`
        const data = { rewritten, unreadable }
        if (unreadable.length === 0) return { text, data }
        const lost = `No key in KEY_ENCRYPTION_KEY can decrypt ${unreadable.join(', ')}.`
        return { text: `${text}\n${lost}`, data, exitCode: EXIT_UNREADABLE }
      },
    },
    {
      name: 'revoke',
      description:
        'Revoke a stolen key permanently. Once the command returns, every process rejects tokens signed ' +
        'with it. If it was the active key, the standby key takes over.',
      progress: 'Revoking the key at every process',
      example: 'key revoke 0nW3gBqVZDQy4n0h0x1QcM3cSyAkXjT6Yk3u2gk1p2E',
      args: ['key_id'],
      async effect({ db }, { keyId }: { keyId: string }) {
        const { state } = await requireKey(db, keyId)
        const effect = 'will be revoked permanently. Every token signed with it will be rejected.'
        return `${keyId}, which is ${state}, ${effect}`
      },
      async run({ db, by, revocation }, { keyId }: { keyId: string }) {
        await revocation().revoke({ kind: 'key', id: keyId }, async (transaction) => {
          if (!(await markSigningKeyRevoked(transaction, keyId))) throw noSuchKey(keyId)
          await recordActivity(transaction, { vendorId: null, by }, 'signing_key.revoked', keyId)
        })
        const { key, state } = await requireKey(db, keyId)
        return { text: `${keyId} is revoked everywhere.`, data: keyData(key, state) }
      },
    },
  ],
}

const readStates = async (db: Database) =>
  signingKeyStates(await listSigningKeys(db), (await readClock(db)).now())

/** Returns the clock of the database, since that of the operator's machine may be off. */
async function readClock(db: Queryable): Promise<Clock> {
  const { rows } = await db.raw('select clock_timestamp() as now')
  const ahead_ms = rows[0].now.getTime() - performance.now()
  return { now: () => Math.floor(performance.now() + ahead_ms) }
}

async function requireKey(db: Database, keyId: string) {
  const keyAndState = (await readStates(db)).find(({ key }) => key.kid === keyId)
  if (!keyAndState) throw noSuchKey(keyId)
  return keyAndState
}

/** The first minute that begins at this time or later. */
const formatNextMinute = (time: Date) => formatTime(new Date(Math.ceil(time.getTime() / 60_000) * 60_000))

const noSuchKey = (keyId: string) => new OperatorError(`There is no key ${keyId}.`)

const keyData = (
  { kid, alg, createdAt, activatesAt, revokedAt }: StoredSigningKey,
  state: SigningKeyState,
) => ({ kid, state, alg, createdAt, activatesAt, revokedAt })

type Rotation = Omit<SigningKeyOptions, 'alg'> & { by: OperatorActor; alg: SigningAlg | undefined }

/**
 * Makes the standby key the signing key, and publishes a new standby key, for the same algorithm unless
 * another is given. No valid token is refused meanwhile. Returns both keys.
 * @throws OperatorError if the standby key is younger than 10 minutes, so that a verifier may not know it
 * yet, or if `encryptionKey` is not the key of the services.
 */
export async function rotateSigningKey(
  db: Database,
  { by, alg, ...options }: Rotation,
): Promise<{ active: StoredSigningKey & { activatesAt: Date }; standby: StoredSigningKey }> {
  await ensureSigningKeys(db, { ...options, alg: alg ?? 'ES256' })
  return db.transaction(async (transaction) => {
    await lockSigningKeys(transaction)
    const keys = await listSigningKeys(transaction)
    const now_ms = options.clock.now()
    const successor = findKey('standby', keys, now_ms)
    if (!successor) throw new Error('there is no standby key')
    if (!decryptSigningKey(successor, options.encryptionKey))
      throw new OperatorError(
        `The signing key ${successor.kid} cannot be decrypted. Check that KEY_ENCRYPTION_KEY is the one used to ` +
          'store it.',
      )
    const usableFrom = new Date(successor.createdAt.getTime() + STANDBY_MIN_MS)
    if (usableFrom.getTime() > now_ms)
      throw new OperatorError(
        'The standby key is too new to sign with: verifiers that cache the key set may not have it yet. ' +
          `Rotate after ${formatNextMinute(usableFrom)}. ` +
          'If the active key was stolen, revoke it; that works at once.',
      )
    const activatesAt = nextActivation(keys, now_ms)
    await activate(transaction, successor.kid, activatesAt)
    const standby = await newSigningKey({ ...options, alg: alg ?? successor.alg, activatesAt: null })
    await insertSigningKey(transaction, standby)
    const detail = { standby: standby.kid, alg: standby.alg }
    await recordActivity(transaction, { vendorId: null, by }, 'signing_key.rotated', successor.kid, detail)
    return { active: { ...successor, activatesAt }, standby }
  })
}

/**
 * Marks a key as revoked, permanently. It can be repeated. If the key was active, the standby key signs from
 * this transaction on. Call it as the commit of `Revocation.revoke({ kind: 'key', id: kid })`, or processes
 * keep accepting its tokens. Returns false if there is no such key.
 */
export async function markSigningKeyRevoked(transaction: Queryable, kid: string): Promise<boolean> {
  await lockSigningKeys(transaction)
  const now_ms = (await readClock(transaction)).now()
  const keys = await listSigningKeys(transaction)
  const revoked = signingKeyStates(keys, now_ms).find(({ key }) => key.kid === kid)
  if (!revoked) return false
  await insertRevokedSigningKey(transaction, kid)
  const successor = revoked.state === 'active' ? findKey('standby', keys, now_ms) : undefined
  if (successor) await activate(transaction, successor.kid, nextActivation(keys, now_ms))
  return true
}

async function activate(db: Queryable, kid: string, activatesAt: Date): Promise<void> {
  await db.raw('update signing_keys set activates_at = ? where kid = ?', [activatesAt, kid])
}

/**
 * Re-encrypts every signing key that is not encrypted with the newest key encryption key. Services that have
 * both keys read either form, so they keep running. Returns the ids of the rewritten keys, and of those that
 * none of `keys` can decrypt.
 */
async function reencryptSigningKeys(
  db: Database,
  { keys, by }: { keys: readonly Buffer[]; by: OperatorActor },
): Promise<{ rewritten: string[]; unreadable: string[] }> {
  const rewritten: string[] = []
  const unreadable: string[] = []
  await db.transaction(async (transaction) => {
    await lockSigningKeys(transaction)
    for (const key of await listSigningKeys(transaction)) {
      if (decryptSigningKey(key, keys.slice(0, 1))) continue
      const signingKey = decryptSigningKey(key, keys)
      if (!signingKey) {
        unreadable.push(key.kid)
        continue
      }
      await transaction.raw('update signing_keys set private_key_encrypted = ? where kid = ?', [
        encryptPrivateKey(signingKey.privateKey, key.kid, keys),
        key.kid,
      ])
      await recordActivity(transaction, { vendorId: null, by }, 'signing_key.reencrypted', key.kid)
      rewritten.push(key.kid)
    }
  })
  return { rewritten, unreadable }
}
