import { Option } from 'commander'
import {
  listSigningKeys,
  type SigningAlg,
  type SigningKeyState,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import { systemClock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { record } from '../../apps/api/accounts/activity.ts'
import { type Subject, table } from './commands.ts'
import { markSigningKeyRevoked, reencryptSigningKeys, rotateSigningKey } from './keys.ts'
import { OperatorError } from './operator.ts'

const EXIT_UNREADABLE = 1
const TITLES = { kid: 'KEY ID', state: 'STATE', alg: 'ALG', activatesAt: 'SIGNS FROM', revokedAt: 'REVOKED' }

export const KEYS: Subject = {
  name: 'key',
  plural: 'keys',
  description: 'Signing keys',
  commands: [
    {
      name: 'list',
      description: 'List the keys and their states',
      example: 'key list',
      async run({ db }) {
        const keys = (await readStates(db)).map(({ key, state }) => shown(key, state))
        return { text: table(keys, TITLES, 'There are no keys yet.'), data: keys }
      },
    },
    {
      name: 'rotate',
      description:
        'Make the standby key the signing key, and publish a new standby key. No valid token is refused.',
      example: 'key rotate',
      options: [
        new Option('--alg <alg>', 'algorithm of the new standby key')
          .choices(['ES256', 'RS256'])
          .default('ES256'),
      ],
      async run({ db, by, encryptionKey }, { alg }: { alg: SigningAlg }) {
        const options = { alg, encryptionKey: await encryptionKey(), clock: systemClock, by }
        const { active, standby } = await rotateSigningKey(db, options)
        return {
          text: `${active.kid} is now the signing key; ${standby.kid} is the standby key.`,
          data: { active: shown(active, 'active'), standby: shown(standby, 'standby') },
        }
      },
    },
    {
      name: 'reencrypt',
      description:
        'Encrypt all private signing keys with the first key in KEY_ENCRYPTION_KEY, which lists the new key and then the older ones, separated by commas. Once the command returns, you no longer need the older ones.',
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
        'Revoke a stolen key permanently. Once the command returns, every process rejects tokens signed with it. If it was the active key, the standby key takes over.',
      doing: 'Revoking the key at every process',
      example: 'key revoke 0nW3gBqVZDQy4n0h0x1QcM3cSyAkXjT6Yk3u2gk1p2E',
      args: ['key_id'],
      async effect({ db }, { keyId }: { keyId: string }) {
        const { state } = await requireKey(db, keyId)
        return `${keyId}, which is ${state}, will be revoked permanently. Every token signed with it will be rejected.`
      },
      async run({ db, by, revocation }, { keyId }: { keyId: string }) {
        await revocation().revoke({ kind: 'key', id: keyId }, async (transaction) => {
          if (!(await markSigningKeyRevoked(transaction, keyId, systemClock.now()))) throw noSuchKey(keyId)
          await record(transaction, { vendorId: null, by }, 'signing_key.revoked', keyId)
        })
        const { key, state } = await requireKey(db, keyId)
        return { text: `${keyId} is revoked everywhere.`, data: shown(key, state) }
      },
    },
  ],
}

const readStates = async (db: Database) => signingKeyStates(await listSigningKeys(db), systemClock.now())

async function requireKey(db: Database, keyId: string) {
  const found = (await readStates(db)).find(({ key }) => key.kid === keyId)
  if (!found) throw noSuchKey(keyId)
  return found
}

const noSuchKey = (keyId: string) => new OperatorError(`There is no key ${keyId}.`)

const shown = (
  { kid, alg, createdAt, activatesAt, revokedAt }: StoredSigningKey,
  state: SigningKeyState,
) => ({ kid, state, alg, createdAt, activatesAt, revokedAt })
