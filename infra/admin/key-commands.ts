import { type Command, Option } from 'commander'
import {
  listSigningKeys,
  reencryptSigningKeys,
  type SigningAlg,
  type SigningKeyState,
  SigningKeyUnreadable,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import { systemClock } from '#shared/process/clock.ts'
import { OperatorError } from '../operator.ts'
import { command, group, type Run, shownTime, table } from './commands.ts'
import { markSigningKeyRevoked, rotateSigningKey, StandbyTooNew } from './keys.ts'

const EXIT_UNREADABLE = 1

/** The keys that access tokens are signed with. */
export function addKeyCommands(program: Command, run: Run): void {
  const keys = group(program, 'key', 'The keys that access tokens are signed with', 'keys')
  command(keys, 'list', 'List the keys and what each is for now', 'key list').action(() =>
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
        text: table(['KEY ID', 'STATE', 'ALG', 'SIGNS FROM', 'REVOKED'], rows, 'There is no key yet.'),
        data: states.map(({ key, state }) => shown(key, state)),
      }
    }),
  )
  command(
    keys,
    'rotate',
    'Have the standby key sign from now on, and publish a new one to stand by. No token is refused at any moment.',
    'key rotate',
  )
    .addOption(
      new Option('--alg <alg>', 'algorithm of the new standby key')
        .choices(['ES256', 'RS256'])
        .default('ES256'),
    )
    .action(({ alg }: { alg: SigningAlg }) =>
      run(async (operator) => {
        const options = { alg, encryptionKey: operator.encryptionKey(), clock: systemClock }
        const { active, standby } = await rotateSigningKey(operator.db, options).catch(asOperatorError)
        return {
          text: `${active.kid} signs from now on; ${standby.kid} stands by.`,
          data: { active: shown(active, 'active'), standby: shown(standby, 'standby') },
        }
      }),
    )
  command(
    keys,
    'reencrypt',
    'Encrypt all private signing keys with the newest key of KEY_ENCRYPTION_KEY, which names it first and the older ones after it, with commas between. When the command ends, no stored key needs the older ones.',
    'key reencrypt',
  ).action(() =>
    run(async (operator) => {
      const { rewritten, unreadable } = await reencryptSigningKeys(operator.db, operator.encryptionKey())
      const lost = `No key of KEY_ENCRYPTION_KEY opens ${unreadable.join(', ')}.`
      const done = `Encrypted anew: ${rewritten.length}.`
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
    'Revoke a stolen key permanently. When the command ends, no process accepts a token signed with it; if it was the active key, the standby key signs from then on.',
    'key revoke 0nW3gBqVZDQy4n0h0x1QcM3cSyAkXjT6Yk3u2gk1p2E',
  )
    .argument('<key_id>')
    .action((kid: string) =>
      run(async (operator) => {
        await operator.revocation().revoke({ kind: 'key', id: kid }, async (transaction) => {
          if (!(await markSigningKeyRevoked(transaction, kid, systemClock.now())))
            throw new OperatorError(`There is no key ${kid}.`)
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
      `${error.message} Rotate after ${shownTime(error.usableFrom)}. If the active key was stolen, revoke it: that does not wait.`,
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
