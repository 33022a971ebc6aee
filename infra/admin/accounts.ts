import { Option } from 'commander'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { type ActivityAction, type OperatorActor, record } from '../../apps/api/accounts/activity.ts'
import { emailAddress, personName } from '../../apps/api/accounts/names.ts'
import { newUserId } from '../../apps/api/accounts/new-ids.ts'
import { isLinked } from '../../apps/api/accounts/openid-identities.ts'
import { hashPassword } from '../../apps/api/accounts/passwords.ts'
import {
  type Account,
  findMemberByEmail,
  insertUser,
  listAccounts,
  listMemberships,
  lockPassword,
  normalizedEmail,
  type User,
} from '../../apps/api/accounts/people.ts'
import { liftSignInLockout } from '../../apps/api/sessions/sign-in-addresses.ts'
import type { CommandGroup, OperatorContext } from './commands.ts'
import { OperatorError } from './operator.ts'
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

/** What to do if the address has an account. */
export const ACCOUNT_OPTIONS = [
  new Option('--existing-account', 'use the existing account for this email address').conflicts('newAccount'),
  new Option(
    '--new-account',
    'create a separate account with a password of its own, although the email address has one',
  ),
]

export type AccountChoice = { existingAccount?: true; newAccount?: true }

/** Returns the person to add. The password is asked for only if a new account is created. */
export function parseNewPerson(
  context: OperatorContext,
  { email, name, existingAccount, newAccount }: AccountChoice & { email: string; name?: string | undefined },
): NewPerson {
  const account = existingAccount ? 'existing' : newAccount ? 'new' : undefined
  return { email, name, password: () => askNewPassword(email, context), account }
}

/** A person to add, with or without an account. */
export interface NewPerson {
  email: string
  /** Required only for a new account. */
  name: string | undefined
  /** Called only for a new account, so that no one types a password that is not used. */
  password: () => Promise<string>
  /**
   * What to do if the address has an account: an invitation never proved whose address it is. undefined:
   * nothing, and say so.
   */
  account: 'existing' | 'new' | undefined
}

/** Also ends every session of the user. @throws OperatorError unless there is exactly one such account. */
export async function replacePassword(
  db: Database,
  { email, password, by }: { email: string; password: () => Promise<string>; by: Operator },
): Promise<User> {
  const user = await requireAccount(db, email)
  const passwordHash = await hashPassword(await password(), { saltFrom: user.passwordHash })
  await db.transaction(async (transaction) => {
    await resetPassword(transaction, { userId: user.userId, passwordHash })
    // Also lifts a lockout caused by failed sign-ins from elsewhere.
    await liftSignInLockout(transaction, { userId: user.userId, now: new Date() })
    await recordForCompanies(transaction, { user, action: 'person.password_reset', by })
  })
  return userData(user)
}

/** Records the act in the activity of each of the user's companies, or without a company if there is none. */
export async function recordForCompanies(
  transaction: Queryable,
  { user, action, by }: { user: User; action: ActivityAction; by: Operator },
): Promise<void> {
  const { userId, name, email } = user
  const vendorIds = (await listMemberships(transaction, userId)).map(({ vendorId }) => vendorId).sort()
  for (const vendorId of vendorIds.length > 0 ? vendorIds : [null])
    await record(transaction, { vendorId, by }, action, userId, { name, email })
}

/** Reads an address, or `vendor_id:address`, which names the account in one company alone. */
export function readAddress(text: string): { vendorId: string | null; email: string } {
  const [, vendorId = null, address = text] = /^(ven_[A-Za-z0-9]{1,60}):(.*)$/.exec(text) ?? []
  return { vendorId, email: normalizedEmail(address) }
}

/** @throws OperatorError unless there is exactly one such account. */
export async function requireAccount(db: Queryable, address: string): Promise<Account> {
  const { vendorId, email } = readAddress(address)
  const accounts = await listAccounts(db, email)
  const member = vendorId === null ? undefined : await findMemberByEmail(db, { vendorId, email })
  const [account, another] =
    vendorId === null ? accounts : accounts.filter(({ userId }) => userId === member?.userId)
  if (!account) throw new OperatorError(`There is no account for ${normalizedEmail(address)}.`)
  if (!another) return account
  throw new OperatorError(
    `${email} has several accounts: name one as vendor_id:${email}. They belong to ` +
      `${await nameCompanies(db, accounts)}.`,
  )
}

/** "ven_acme; ven_globex, ven_initech": the companies of each account. */
async function nameCompanies(db: Queryable, accounts: readonly User[]): Promise<string> {
  const lists = await Promise.all(accounts.map(({ userId }) => listMemberships(db, userId)))
  return lists.map((list) => list.map(({ vendorId }) => vendorId).join(', ') || 'no company').join('; ')
}

export const userData = ({ userId, email, name }: User): User => ({ userId, email, name })

/** Finds the account or prepares a new one, which `store` inserts. Prompts for the password last. */
export async function preparePerson(
  db: Queryable,
  { email: address, name, password, account }: NewPerson,
): Promise<{ user: User; store(transaction: Queryable): Promise<void> }> {
  const email = normalizedEmail(address)
  if (!emailAddress.safeParse(email).success)
    throw new OperatorError(`${JSON.stringify(address)} is not an email address.`)
  const accounts = await listAccounts(db, email)
  if (accounts.length > 0 && account === undefined)
    throw new OperatorError(
      `${email} already has an account, which someone else may have created with that address. It belongs ` +
        `to ${await nameCompanies(db, accounts)}. If you know that it is this person's, repeat the command with ` +
        '--existing-account; if you do not, with --new-account.',
    )
  if (accounts.length > 0 && account === 'existing') {
    const existing = await chooseAccount(db, accounts)
    const store = async (transaction: Queryable) => {
      if (!(await lockPassword(transaction, existing)))
        throw new OperatorError(`The account of ${email} has just changed. Try again.`)
    }
    return { user: userData(existing), store }
  }
  if (name === undefined) throw new OperatorError(`${email} has no account yet: add the person's name.`)
  const user = { userId: newUserId(), email, name: parseName(name) }
  const passwordHash = await hashPassword(await password(), { saltFrom: accounts[0]?.passwordHash })
  return { user, store: (transaction) => insertUser(transaction, { ...user, passwordHash }) }
}

/** Among several accounts, the one that an OpenID provider proves to be the person's. */
async function chooseAccount(db: Queryable, accounts: readonly Account[]): Promise<Account> {
  const areLinked = await Promise.all(accounts.map(({ userId }) => isLinked(db, userId)))
  const [account, another] =
    accounts.length === 1 ? accounts : accounts.filter((_, index) => areLinked[index])
  if (account && !another) return account
  throw new OperatorError(
    `${accounts[0]?.email} has several accounts, of ${await nameCompanies(db, accounts)}. Nothing says which ` +
      "is this person's: repeat the command with --new-account.",
  )
}

/** Returns the trimmed name of a person or company. @throws OperatorError that says what is wrong. */
export function parseName(name: string): string {
  const { data, error } = personName.safeParse(name)
  if (data === undefined) throw new OperatorError(`The name ${error?.issues[0]?.message}.`)
  return data
}
