import { Option } from 'commander'
import type { Queryable } from '#shared/stores/postgres.ts'
import { emailAddress, personName } from '../../apps/api/accounts/names.ts'
import { newUserId } from '../../apps/api/accounts/new-ids.ts'
import { isLinked } from '../../apps/api/accounts/openid-identities.ts'
import {
  type Account,
  insertUser,
  listAccounts,
  lockAddress,
  lockPassword,
  normalizedEmail,
  type User,
} from '../../apps/api/accounts/people.ts'
import { addressChanged, hashOwnPassword, nameCompanies, userData } from './accounts.ts'
import type { OperatorContext } from './commands.ts'
import { OperatorError } from './operator.ts'
import { askNewPassword } from './terminal.ts'

/* The person whom `company create` and `member add` add, with an account that exists or a new one. */

/** What to do if the address has an account. */
export const ACCOUNT_OPTIONS = [
  new Option('--existing-account', 'use the existing account for this email address').conflicts('newAccount'),
  new Option(
    '--new-account',
    'create a separate account with a password of its own, although the email address has one',
  ),
]

export type AccountChoice = { existingAccount?: true; newAccount?: true }

/** Returns the person to add. Its password is asked for only if a new account is created. */
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
   * What to do if the address has an account. undefined: refuse, since no invitation has proved whose address
   * it is.
   */
  account: 'existing' | 'new' | undefined
}

/**
 * Finds the account or prepares a new one, which `store` inserts. Prompts for the password last.
 * @throws OperatorError if the address or name is invalid, or if which account to use is not clear. So does
 * `store`, if the account was changed meanwhile.
 */
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
      if (!(await lockPassword(transaction, existing))) throw addressChanged(email)
    }
    return { user: userData(existing), store }
  }
  if (name === undefined) throw new OperatorError('A new account needs a name: add --name or --owner-name.')
  const user = { userId: newUserId(), email, name: parseName(name) }
  const passwordHash = await hashOwnPassword(await password(), accounts)
  const store = async (transaction: Queryable) => {
    if (!(await lockAddress(transaction, email, accounts))) throw addressChanged(email)
    await insertUser(transaction, { ...user, passwordHash })
  }
  return { user, store }
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

/** Returns the trimmed name of a person, a company or a service. @throws OperatorError: what is wrong. */
export function parseName(name: string, rule = personName): string {
  const { data, error } = rule.safeParse(name)
  if (data === undefined) throw new OperatorError(`The name ${error?.issues[0]?.message}.`)
  return data
}
