import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { bearerChallenge } from '#shared/access-tokens/bearer.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import { PASSWORD_MAX_BYTES } from '../accounts/passwords.ts'
import { type Account, normalizedEmail } from '../accounts/people.ts'
import type { ApiContext } from '../http/state.ts'
import { Problem } from '../problems/problems.ts'
import { SESSION_REALM } from './access.ts'
import type { SessionCookie } from './cookie.ts'
import type { PasswordClient, PasswordQueue } from './password-queue.ts'
import type { SessionLimits } from './read-session.ts'
import { findKnownAccounts } from './sign-in-addresses.ts'
import {
  countAddress,
  countAttempt,
  countStrangerFailure,
  refuseStrangers,
  type SignInLimits,
} from './sign-in-limits.ts'

/** A password, in the input of the routes that check or set one. */
export const passwordInput = z
  .string('must be a string')
  .min(1, 'must not be empty')
  .refine(
    (text) => Buffer.byteLength(text) <= PASSWORD_MAX_BYTES,
    `must have at most ${PASSWORD_MAX_BYTES} bytes`,
  )

export interface SignInNeeds extends SessionLimits {
  db: Database
  cookie: SessionCookie
  passwords: PasswordQueue
  accountName: AccountName
  signInLimits: SignInLimits
}

interface AccountProof {
  /** The account with this password; undefined if there is none. */
  account: Account | undefined
  /** Queues further password work. */
  client: PasswordClient
}

/**
 * Finds the address's account that the password proves. It counts against the sign-in limits, and a failure
 * is logged, unless there is no account and the caller `mayCreate` one. Neither the limits nor the time
 * reveal whether there is an account. Once strangers have failed too often, a client may only try the
 * accounts that know it: the address may also have an account of another person.
 * @throws Problem rate_limited or unavailable
 */
export async function proveAccount(
  ctx: ApiContext,
  { db, clock, cookie, passwords, accountName, signInLimits: limits }: SignInNeeds,
  {
    email,
    password,
    readAccounts,
    mayCreate = false,
  }: { email: string; password: string; readAccounts: () => Promise<Account[]>; mayCreate?: boolean },
): Promise<AccountProof> {
  const { clientAddress } = ctx.state.request
  await countAddress(ctx, limits)
  const origin = { address: addressSubject(clientAddress), browser: cookie.browser.read(ctx) }
  const known = await findKnownAccounts(db, { ...origin, email, now_ms: clock.now() })
  await countAttempt(limits, { email, address: known.browser ?? origin.address })
  const accounts = await readAccounts()
  const knownAccounts = accounts.filter(({ userId }) => known.userIds.has(userId))
  const isStranger = accounts.length === 0 || knownAccounts.length < accounts.length
  const refusal = isStranger ? await refuseStrangers(limits, email) : undefined
  if (refusal && knownAccounts.length === 0) throw refusal
  const client = { address: clientAddress, known: knownAccounts.length > 0 }
  const account = await passwords.findAccount(client, password, refusal ? knownAccounts : accounts)
  if (!account) {
    if (isStranger && !refusal) await countStrangerFailure(limits, email)
    // Read even if it is not logged, so that the time does not reveal whether there is an account.
    const name = await accountName(email)
    if (accounts.length > 0 || !mayCreate)
      ctx.state.log.info({ event: 'sign_in.failed', clientAddress, account: name }, 'sign-in failed')
  }
  return { account, client }
}

export const wrongCredentials = (detail = 'Email or password is incorrect.'): Problem =>
  new Problem('invalid_credentials', detail, {
    headers: { 'WWW-Authenticate': bearerChallenge({ realm: SESSION_REALM }) },
  })

const NAME_CHARACTERS = 16

/** Returns a short name for an email address, the same in every process, that does not reveal it. */
type AccountName = (email: string) => Promise<string>

/**
 * Names accounts in the log, so that guesses at one account show without revealing whose it is. The key is
 * stored only in Postgres. Without it, no one can test addresses against the log.
 */
export const createAccountNames =
  (db: Queryable): AccountName =>
  async (email) => {
    const { rows } = await db.raw('select key from account_log_key')
    const mac = createHmac('sha256', rows[0].key).update(normalizedEmail(email))
    return mac.digest('base64url').slice(0, NAME_CHARACTERS)
  }
