import { z } from 'zod'
import type { Queryable } from '#shared/stores/postgres.ts'
import { hashPassword, indexOfPassword } from '../accounts/passwords.ts'
import {
  type Account,
  listAccounts,
  listMemberships,
  lockAddress,
  savePassword,
  type User,
} from '../accounts/people.ts'
import { invalidMember } from '../http/input.ts'
import { throwIfAnswered } from '../http/problem.ts'
import { route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import type { MailDetails } from '../mail/kinds.ts'
import { addMail } from '../mail/outbox.ts'
import { type Problem, unavailable } from '../problems/problems.ts'
import { type BuiltInSetting, checkBuiltInAccounts, signedIn } from './access.ts'
import { passwordFault } from './guessable-passwords.ts'
import type { PasswordClient } from './password-queue.ts'
import { passwordInput, proveAccount, type SignInNeeds } from './prove-account.ts'
import { logSessionEnd } from './session-events.ts'
import { deleteSessions } from './sessions.ts'
import { forgetSignInAddresses } from './sign-in-addresses.ts'
import { countGuessAtOthers, countPasswordChange } from './sign-in-limits.ts'

const PasswordChange = z
  .strictObject({ currentPassword: passwordInput, newPassword: passwordInput })
  .meta({ id: 'PasswordChange' })

export const changePasswordRoute = route({
  method: 'put',
  path: '/v1/session/password',
  operationId: 'changePassword',
  tag: 'Session',
  summary: 'Change your own password',
  description: 'All other sessions of the user end.',
  access: signedIn,
  body: PasswordChange,
  answers: { 204: { description: 'The password has changed.' } },
  async handle(
    { session, body: { currentPassword, newPassword } },
    needs: SignInNeeds & BuiltInSetting,
    ctx,
  ) {
    checkBuiltInAccounts(needs)
    const { db, clock, signInLimits } = needs
    const { userId, email, tokenHash } = session
    const accounts = await listAccounts(db, email)
    const readAccounts = async () => accounts.filter((account) => account.userId === userId)
    const proof = await proveAccount(ctx, needs, { email, password: currentPassword, readAccounts })
    if (!proof.account) throw invalidMember('/currentPassword', 'is not your password')
    const choice = { account: proof.account, accounts, client: proof.client, password: newPassword }
    if (accounts.length > 1) await countGuessAtOthers(signInLimits, email)
    const passwordHash = await hashNewPassword(needs, { ...choice, pointer: '/newPassword' })
    await countPasswordChange(signInLimits, userId)
    const now = new Date(clock.now())
    const before = proof.account.passwordHash
    const change = { userId, email, accounts, before, passwordHash, keep: tokenHash, now }
    const sessionIds = await db.transaction((transaction) => changePassword(transaction, ctx, change))
    if (!sessionIds) throw invalidMember('/currentPassword', 'is no longer your password')
    logPasswordChange(ctx, userId, sessionIds)
    return undefined
  },
})

interface PasswordChoice {
  account: Account
  /** All accounts of its address. */
  accounts: readonly Account[]
  client: PasswordClient
  password: string
  /** Names the password in the body. */
  pointer: string
}

/**
 * Returns the hash of a password that a person chose. The transaction that sets it calls `lockAddress` first,
 * and throws `accountsChanged` if these are no longer the address's accounts.
 * @throws Problem invalid_input or unavailable
 */
export async function hashNewPassword(
  { db, passwords }: Pick<SignInNeeds, 'db' | 'passwords'>,
  { account, accounts, client, password, pointer }: PasswordChoice,
): Promise<string> {
  const { userId, email, name, passwordHash: saltFrom } = account
  const companies = (await listMemberships(db, userId)).map((company) => company.name)
  const fault = passwordFault(password, [email, name, ...companies])
  if (fault) throw invalidMember(pointer, fault)
  // If an address's accounts shared a password, signing in would only ever reach one.
  const hashes = accounts.map(({ passwordHash }) => passwordHash)
  const isNew = await passwords.runQueued(client, async () => (await indexOfPassword(password, hashes)) < 0)
  if (!isNew) throw invalidMember(pointer, 'must not be a current password of this address')
  return passwords.runQueued(client, () => hashPassword(password, { saltFrom }))
}

/** Returns the problem of a new password that was checked against other accounts than the address has now. */
export const accountsChanged = (): Problem =>
  unavailable('The accounts of this address have just changed. Try again.')

/** Writes the mail that says so to the person. Call it in the transaction of the change. */
export async function mailPasswordChange(
  transaction: Queryable,
  { userId, by, now }: { userId: string; by: MailDetails['password_changed']['by']; now: Date },
): Promise<void> {
  const at = now.toISOString()
  await addMail(transaction, 'password_changed', { topic: at, userId, detail: { at, by } })
}

/** Logs that a person set a password, and the sessions that it ended. Call it after the commit. */
export function logPasswordChange(ctx: ApiContext, userId: string, sessionIds: readonly string[]): void {
  const { log } = ctx.state
  log.info({ event: 'password.changed', userId }, 'a person changed their password')
  for (const sessionId of sessionIds)
    logSessionEnd(log, { userId, sessionId, why: 'password_changed', from: ctx })
}

/**
 * Replaces the password that was checked by one that the person chose, and ends all their sessions but one.
 * Call it in a transaction. Returns the ids of the ended sessions; undefined if the password has changed
 * since the check. @throws Problem unavailable if another account of the address has changed.
 * @param keep the hash of the token of the session that goes on.
 */
async function changePassword(
  transaction: Queryable,
  ctx: ApiContext,
  change: Pick<User, 'userId' | 'email'> & {
    accounts: readonly Account[]
    before: string
    passwordHash: string
    keep: Buffer
    now: Date
  },
): Promise<string[] | undefined> {
  const areUnchanged = await lockAddress(transaction, change.email, change.accounts)
  if (!(await savePassword(transaction, change))) return undefined
  if (!areUnchanged) throw accountsChanged()
  await mailPasswordChange(transaction, { ...change, by: 'person' })
  const endedIds = await deleteSessions(transaction, change.userId, change.keep)
  throwIfAnswered(ctx)
  return endedIds
}

/**
 * Sets a new password and ends every session of the user. No address or browser is known to the account any
 * more. Call it in a transaction. Returns the ids of the ended sessions.
 */
export async function resetPassword(
  transaction: Queryable,
  { userId, passwordHash }: { userId: string; passwordHash: string },
): Promise<string[]> {
  await savePassword(transaction, { userId, passwordHash })
  await forgetSignInAddresses(transaction, userId)
  return deleteSessions(transaction, userId)
}
