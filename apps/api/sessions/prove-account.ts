import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import type { Account } from '../accounts/people.ts'
import type { ApiContext } from '../http/state.ts'
import type { AccountName } from './account-names.ts'
import type { SessionCookie } from './cookie.ts'
import type { PasswordWork } from './password-check.ts'
import { findKnownAccounts } from './sign-in-addresses.ts'
import {
  countAddress,
  countAttempt,
  countFailure,
  type SignInLimits,
  strangersRefused,
} from './sign-in-limits.ts'

export interface SignInNeeds {
  db: Database
  clock: Clock
  cookie: SessionCookie
  passwords: PasswordWork
  accountName: AccountName
  signInLimits: SignInLimits
}

export interface Proof {
  /** The account with this password; undefined if there is none. */
  account: Account | undefined
  /** Where further password work queues. */
  from: { address: string; known: boolean }
}

/**
 * Finds the address's account that the password proves. It counts against the sign-in limits, and a failure is
 * logged. Neither the limits nor the time reveal whether there is an account. Once strangers have failed too often, a
 * place may only try the accounts that know it: the address may also have an account of another person.
 * @throws Problem rate_limited or unavailable
 */
export async function proveAccount(
  ctx: ApiContext,
  { db, clock, cookie, passwords, accountName, signInLimits: limits }: SignInNeeds,
  { email, password, accounts }: { email: string; password: string; accounts: () => Promise<Account[]> },
): Promise<Proof> {
  const { clientAddress } = ctx.state.request
  await countAddress(ctx, limits)
  const place = { address: addressSubject(clientAddress), browser: cookie.browser.read(ctx) }
  const known = await findKnownAccounts(db, { ...place, email, now_ms: clock.now() })
  await countAttempt(limits, { email, place: known.browser ?? place.address })
  const all = await accounts()
  const ofKnown = all.filter(({ userId }) => known.userIds.has(userId))
  const isStranger = all.length === 0 || ofKnown.length < all.length
  const refused = isStranger ? await strangersRefused(limits, email) : undefined
  if (refused && ofKnown.length === 0) throw refused
  const from = { address: clientAddress, known: ofKnown.length > 0 }
  const account = await passwords.check(from, password, refused ? ofKnown : all)
  if (!account) {
    if (isStranger && !refused) await countFailure(limits, email)
    const account = await accountName(email)
    ctx.state.log.info({ event: 'sign_in.failed', clientAddress, account }, 'sign-in failed')
  }
  return { account, from }
}
