import type { Account } from '#shared/accounts/people.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import type { ApiContext } from '../http/state.ts'
import type { AccountName } from './account-names.ts'
import type { PasswordWork } from './password-check.ts'
import { isKnownAddress } from './sign-in-addresses.ts'
import { countAttempt, countFailure, refuseStranger, type SignInLimits } from './sign-in-limits.ts'

export interface ProofDependencies {
  db: Database
  clock: Clock
  passwords: PasswordWork
  accountName: AccountName
  limits: SignInLimits
}

export interface Proof {
  /** The account with this password; undefined if there is none. */
  account: Account | undefined
  /** Where further password work queues. */
  from: { address: string; known: boolean }
}

/**
 * Finds the address's account that the password proves. It counts against the sign-in limits, and a failure is
 * logged. Neither the limits nor the time reveal whether there is an account.
 * @throws Problem rate_limited or unavailable
 */
export async function proveAccount(
  ctx: ApiContext,
  { db, clock, passwords, accountName, limits }: ProofDependencies,
  { email, password, accounts }: { email: string; password: string; accounts: () => Promise<Account[]> },
): Promise<Proof> {
  const { clientAddress: address } = ctx.state.request
  await countAttempt(ctx, limits, email)
  const place = { email, address: addressSubject(address), now_ms: clock.now() }
  const from = { address, known: await isKnownAddress(db, place) }
  if (!from.known) await refuseStranger(ctx, limits, email)
  const account = await passwords.check(from, password, await accounts())
  if (!account) {
    if (!from.known) await countFailure(limits, email)
    const fields = { event: 'sign_in.failed', clientAddress: address, account: await accountName(email) }
    ctx.state.log.info(fields, 'sign-in failed')
  }
  return { account, from }
}
