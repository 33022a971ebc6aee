import { z } from 'zod'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import { listAccounts, lockAccount, lockAddress } from '../accounts/people.ts'
import { throwIfAnswered } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { requireResetByMail } from './access.ts'
import {
  accountsChanged,
  hashNewPassword,
  logPasswordChange,
  mailPasswordChange,
  resetPassword,
} from './change-password.ts'
import { requireUnfencedDatabase } from './fence.ts'
import { type LinkNeeds, linkToken, requireLink } from './link-token.ts'
import { deletePasswordReset, findPasswordReset } from './password-resets.ts'
import { passwordInput, type SignInNeeds } from './prove-account.ts'
import { rememberSignInAddress } from './sign-in-addresses.ts'
import { countAddress, countAttempt } from './sign-in-limits.ts'

const PasswordReset = z
  .strictObject({
    token: linkToken,
    password: passwordInput,
  })
  .meta({ id: 'PasswordReset' })

const LINK = {
  find: findPasswordReset,
  notValid: () =>
    new Problem('password_reset_not_valid', 'The link was used or replaced, or is older than an hour.'),
}

export const confirmPasswordResetRoute = route({
  method: 'post',
  path: '/v1/password-reset/confirm',
  operationId: 'confirmPasswordReset',
  tag: 'Session',
  summary: 'Set a new password with an emailed link',
  description:
    'Send the token from the link. All sessions of the user end, all links too, and an email says so. It does ' +
    'not sign in.',
  access: requireResetByMail,
  body: PasswordReset,
  answers: { 204: { description: 'The password has changed.' } },
  problems: ['password_reset_not_valid', 'rate_limited', 'unavailable'],
  async handle({ body: { token, password } }, needs: SignInNeeds & LinkNeeds, ctx) {
    const { db, clock, cookie, signInLimits } = needs
    const { tokenHash, ...account } = await requireLink(ctx, needs, token, LINK)
    const { userId, email } = account
    const address = ctx.state.request.clientAddress
    // Each try tells whether the address has this password.
    await countAddress(ctx, signInLimits)
    await countAttempt(signInLimits, { email, address: addressSubject(address) })
    const accounts = await listAccounts(db, email)
    // Whoever has the link is no stranger to the account.
    const client = { address, known: true }
    const choice = { account, accounts, client, password, pointer: '/password' }
    const passwordHash = await hashNewPassword(needs, choice)
    const now = new Date(clock.now())
    const sessionIds = await db.transaction(async (transaction) => {
      await requireUnfencedDatabase(transaction)
      const areUnchanged = await lockAddress(transaction, email, accounts)
      await lockAccount(transaction, userId)
      if (!(await deletePasswordReset(transaction, tokenHash))) throw LINK.notValid()
      if (!areUnchanged) throw accountsChanged()
      await mailPasswordChange(transaction, { userId, by: 'reset', now })
      const endedIds = await resetPassword(transaction, { userId, passwordHash })
      // Failures of strangers must not keep the person from signing in next.
      const origin = { address: addressSubject(address), browser: cookie.browser.read(ctx) }
      await rememberSignInAddress(transaction, { ...origin, userId, now })
      throwIfAnswered(ctx)
      return endedIds
    })
    logPasswordChange(ctx, userId, sessionIds)
    return undefined
  },
})
