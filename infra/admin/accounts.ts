import type { Queryable } from '#shared/stores/postgres.ts'
import { type ActivityAction, type OperatorActor, recordActivity } from '../../apps/api/accounts/activity.ts'
import { hashPassword, indexOfPassword } from '../../apps/api/accounts/passwords.ts'
import {
  type Account,
  findMemberByEmail,
  listAccounts,
  listMemberships,
  normalizedEmail,
  type User,
} from '../../apps/api/accounts/people.ts'
import { OperatorError } from './operator.ts'

/* Finds the accounts that commands name by their address. */

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
export async function nameCompanies(db: Queryable, accounts: readonly User[]): Promise<string> {
  const lists = await Promise.all(accounts.map(({ userId }) => listMemberships(db, userId)))
  return lists.map((list) => list.map(({ vendorId }) => vendorId).join(', ') || 'no company').join('; ')
}

/**
 * Returns the hash of a new password; `userId` is the account that gets it, and is not compared.
 * @throws OperatorError if another account of the address has the password, which would reach only one.
 */
export async function hashOwnPassword(password: string, accounts: readonly Account[], userId?: string) {
  const others = accounts.filter((account) => account.userId !== userId).map((other) => other.passwordHash)
  if ((await indexOfPassword(password, others)) < 0)
    return hashPassword(password, { saltFrom: accounts[0]?.passwordHash })
  throw new OperatorError('Another account of this address has this password. Nothing was changed.')
}

/** Returns the error for an address whose accounts are no longer those that were read. */
export const addressChanged = (email: string): OperatorError =>
  new OperatorError(`The accounts of ${email} have just changed. Try again.`)

/** Returns what commands print of an account, and never its password hash. */
export const userData = ({ userId, email, name }: User): User => ({ userId, email, name })

/** Records the act for each of the user's companies, or without a company if there is none. */
export async function recordForCompanies(
  transaction: Queryable,
  { user, action, by }: { user: User; action: ActivityAction; by: OperatorActor },
): Promise<void> {
  const { userId, name, email } = user
  const vendorIds = (await listMemberships(transaction, userId)).map(({ vendorId }) => vendorId).sort()
  for (const vendorId of vendorIds.length > 0 ? vendorIds : [null])
    await recordActivity(transaction, { vendorId, by }, action, userId, { name, email })
}
