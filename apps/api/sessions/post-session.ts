import { bearerChallenge } from '#shared/access-tokens/bearer.ts'
import { holdPassword, listAccounts } from '#shared/accounts/people.ts'
import { Problem } from '#shared/problems/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import { type Access, type Route, route } from '../http/route.ts'
import { SESSION_REALM } from './access.ts'
import type { AccountName } from './account-names.ts'
import { beginSession } from './begin.ts'
import type { SessionCookie } from './cookie.ts'
import type { PasswordWork } from './password-check.ts'
import { CreatedSession, SignIn } from './schemas.ts'
import { isKnownAddress } from './sign-in-addresses.ts'
import { countAttempt, countFailure, refuseStranger, type SignInLimits } from './sign-in-limits.ts'

export interface SignInDependencies {
  db: Database
  clock: Clock
  cookie: SessionCookie
  passwords: PasswordWork
  accountName: AccountName
  limits: SignInLimits
  /** Admits anyone, or nobody when people only sign in elsewhere. */
  builtIn: Access<object>
}

export function postSession(deps: SignInDependencies): Route {
  const { db, clock, cookie, passwords, accountName, limits } = deps
  return route({
    method: 'post',
    path: '/v1/session',
    operationId: 'signIn',
    tag: 'Session',
    summary: 'Sign in',
    description: 'A session lasts 12 hours. A new password ends all sessions of its user.',
    by: deps.builtIn,
    body: SignIn,
    answers: {
      201: {
        description: 'Signed in.',
        schema: CreatedSession,
        headers: { 'Set-Cookie': 'The session, if it was asked for as a cookie.' },
      },
    },
    problems: ['invalid_credentials', 'forbidden', 'rate_limited', 'unavailable'],
    async handle({ body: { email, password, cookie: inCookie } }, ctx) {
      const { clientAddress: address } = ctx.state.request
      if (inCookie) cookie.requireOwnPage(ctx)
      await countAttempt(ctx, limits, email)
      const known = await isKnownAddress(db, {
        email,
        address: addressSubject(address),
        now_ms: clock.now(),
      })
      if (!known) await refuseStranger(ctx, limits, email)
      const user = await passwords.check({ address, known }, password, await listAccounts(db, email))
      const begun =
        user &&
        // Unless the password has been changed meanwhile.
        (await beginSession(ctx, deps, { inCookie, how: 'password' }, async (transaction) =>
          (await holdPassword(transaction, user)) ? user : undefined,
        ))
      if (begun) return begun
      if (!known) await countFailure(limits, email)
      const account = await accountName(email)
      ctx.state.log.info({ event: 'sign_in.failed', clientAddress: address, account }, 'sign-in failed')
      throw wrongCredentials()
    },
  })
}

export const wrongCredentials = (): Problem =>
  new Problem('invalid_credentials', 'Email or password is incorrect.', {
    headers: { 'WWW-Authenticate': bearerChallenge({ realm: SESSION_REALM }) },
  })
