import { type Command, Option } from 'commander'
import { record } from '#shared/accounts/activity.ts'
import {
  listSigningKeys,
  type SigningAlg,
  type SigningKeyState,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import { systemClock } from '#shared/process/clock.ts'
import { command, group, type Run, shownTime, table } from './commands.ts'
import {
  markSigningKeyRevoked,
  reencryptSigningKeys,
  rotateSigningKey,
  SigningKeyUnreadable,
  StandbyTooNew,
} from './keys.ts'
import { OperatorError } from './operator.ts'

const EXIT_UNREADABLE = 1

/** Signing keys. */
export function addKeyCommands(program: Command, run: Run): void {
  const keys = group(program, 'key', 'Signing keys', 'keys')
  command(keys, 'list', 'List the keys and their states', 'key list').action(() =>
    run(async ({ db }) => {
      const states = signingKeyStates(await listSigningKeys(db), systemClock.now())
      const rows = states.map(({ key, state }) => [
        key.kid,
        state,
        key.alg,
        shownTime(key.activatesAt),
        shownTime(key.revokedAt),
      ])
      return {
        text: table(['KEY ID', 'STATE', 'ALG', 'SIGNS FROM', 'REVOKED'], rows, 'There are no keys yet.'),
        data: states.map(({ key, state }) => shown(key, state)),
      }
    }),
  )
  command(
    keys,
    'rotate',
    'Make the standby key the signing key, and publish a new standby key. No valid token is refused.',
    'key rotate',
  )
    .addOption(
      new Option('--alg <alg>', 'algorithm of the new standby key')
        .choices(['ES256', 'RS256'])
        .default('ES256'),
    )
    .action(({ alg }: { alg: SigningAlg }) =>
      run(async ({ db, by, encryptionKey }) => {
        const options = { alg, encryptionKey: await encryptionKey(), clock: systemClock, by }
        const { active, standby } = await rotateSigningKey(db, options).catch(asOperatorError)
        return {
          text: `${active.kid} is now the signing key; ${standby.kid} is the standby key.`,
          data: { active: shown(active, 'active'), standby: shown(standby, 'standby') },
        }
      }),
    )
  command(
    keys,
    'reencrypt',
    'Encrypt all private signing keys with the first key in KEY_ENCRYPTION_KEY, which lists the new key and then the older ones, separated by commas. Once the command returns, you no longer need the older ones.',
    'key reencrypt',
  ).action(() =>
    run(async (operator) => {
      const { rewritten, unreadable } = await reencryptSigningKeys(operator.db, {
        keys: await operator.encryptionKey(),
        by: operator.by,
      })
      const lost = `No key in KEY_ENCRYPTION_KEY can decrypt ${unreadable.join(', ')}.`
      const done = `Re-encrypted: ${rewritten.length}.`
      return {
        text: unreadable.length > 0 ? `${done}\n${lost}` : done,
        data: { rewritten, unreadable },
        exitCode: unreadable.length > 0 ? EXIT_UNREADABLE : 0,
      }
    }),
  )
  command(
    keys,
    'revoke',
    'Revoke a stolen key permanently. Once the command returns, every process rejects tokens signed with it. If it was the active key, the standby key takes over.',
    'key revoke 0nW3gBqVZDQy4n0h0x1QcM3cSyAkXjT6Yk3u2gk1p2E',
  )
    .argument('<key_id>')
    .action((kid: string) =>
      run(async (operator) => {
        await operator.revocation().revoke({ kind: 'key', id: kid }, async (transaction) => {
          if (!(await markSigningKeyRevoked(transaction, kid, systemClock.now())))
            throw new OperatorError(`There is no key ${kid}.`)
          await record(transaction, { vendorId: null, by: operator.by }, 'signing_key.revoked', kid)
        })
        const key = (await listSigningKeys(operator.db)).find((stored) => stored.kid === kid)
        return {
          text: `${kid} is revoked everywhere.`,
          data: key ? shown(key, 'revoked') : null,
        }
      }),
    )
}

function asOperatorError(error: unknown): never {
  if (error instanceof SigningKeyUnreadable) throw new OperatorError(error.message)
  if (error instanceof StandbyTooNew)
    throw new OperatorError(
      `${error.message} Rotate after ${shownTime(error.usableFrom)}. If the active key was stolen, revoke it; that works at once.`,
    )
  throw error
}

const shown = (
  { kid, alg, createdAt, activatesAt, revokedAt }: StoredSigningKey,
  state: SigningKeyState,
) => ({
  kid,
  state,
  alg,
  createdAt,
  activatesAt,
  revokedAt,
})
