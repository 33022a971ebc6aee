import { bearerChallenge } from '#shared/access-tokens/bearer.ts'
import { holdPassword, listAccounts } from '../accounts/people.ts'
import { route } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { SESSION_REALM } from './access.ts'
import { beginSession } from './begin-session.ts'
import { builtIn } from './built-in.ts'
import { proveAccount, type SignInNeeds } from './prove-account.ts'
import { CreatedSession, SignIn } from './schemas.ts'

export const signInRoute = route({
  method: 'post',
  path: '/v1/session',
  operationId: 'signIn',
  tag: 'Session',
  summary: 'Sign in',
  description:
    'A session lasts 12 hours. A new password ends all sessions of its user. In a browser, the session whose cookie this one replaces ends.',
  by: builtIn,
  body: SignIn,
  answers: {
    201: {
      description: 'Signed in.',
      schema: CreatedSession,
      headers: ['Set-Cookie'],
    },
  },
  problems: ['invalid_credentials', 'forbidden', 'rate_limited', 'unavailable'],
  async handle({ body: { email, password, cookie: inCookie } }, needs: SignInNeeds, ctx) {
    const { db, cookie } = needs
    if (inCookie) cookie.requireOwnPage(ctx)
    const accounts = () => listAccounts(db, email)
    const { account } = await proveAccount(ctx, needs, { email, password, accounts })
    if (!account) throw wrongCredentials()
    return beginSession(ctx, needs, { inCookie, how: 'password' }, async (transaction) => {
      // The password has changed meanwhile.
      if (!(await holdPassword(transaction, account))) throw wrongCredentials()
      return { user: account }
    })
  },
})

export const wrongCredentials = (): Problem =>
  new Problem('invalid_credentials', 'Email or password is incorrect.', {
    headers: { 'WWW-Authenticate': bearerChallenge({ realm: SESSION_REALM }) },
  })
