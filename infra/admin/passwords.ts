import type { Database } from '#shared/stores/postgres.ts'
import type { OperatorActor } from '../../apps/api/accounts/activity.ts'
import { listAccounts, lockAddress, type User } from '../../apps/api/accounts/people.ts'
import { mailPasswordChange, resetPassword } from '../../apps/api/sessions/change-password.ts'
import { liftSignInLockout } from '../../apps/api/sessions/sign-in-addresses.ts'
import { addressChanged, hashOwnPassword, recordForCompanies, requireAccount, userData } from './accounts.ts'
import type { CommandGroup } from './commands.ts'
import { askNewPassword } from './terminal.ts'

export const PASSWORDS: CommandGroup = {
  name: 'password',
  description: 'Passwords',
  commands: [
    {
      name: 'reset',
      description:
        "Set a user's password and end all of the user's sessions. You are prompted for the password, or " +
        'it is read from standard input.',
      example: 'password reset owner@acme.example',
      args: ['email'],
      async run(context, { email }: { email: string }) {
        const password = () => askNewPassword(email, context)
        const user = await replacePassword(context.db, { email, password, by: context.by })
        return { text: `${user.email} has a new password; all sessions were ended.`, data: user }
      },
    },
  ],
}

/** Also ends every session of the user. @throws OperatorError unless there is exactly one such account. */
export async function replacePassword(
  db: Database,
  { email, password, by }: { email: string; password: () => Promise<string>; by: OperatorActor },
): Promise<User> {
  const user = await requireAccount(db, email)
  const { userId } = user
  const accounts = await listAccounts(db, user.email)
  const passwordHash = await hashOwnPassword(await password(), accounts, userId)
  await db.transaction(async (transaction) => {
    if (!(await lockAddress(transaction, user.email, accounts))) throw addressChanged(user.email)
    await resetPassword(transaction, { userId, passwordHash })
    // Also lifts a lockout caused by failed sign-ins from elsewhere.
    await liftSignInLockout(transaction, { userId, now: new Date() })
    await mailPasswordChange(transaction, { userId, by: 'operator', now: new Date() })
    await recordForCompanies(transaction, { user, action: 'person.password_reset', by })
  })
  return userData(user)
}
