import { z } from 'zod'
import { EMAIL_MAX_CHARACTERS } from '../accounts/names.ts'
import { listAccounts, lockPassword } from '../accounts/people.ts'
import { route } from '../http/route.ts'
import { requireBuiltInAccounts } from './access.ts'
import { beginSession, CreatedSession, cookieInput } from './begin-session.ts'
import { passwordInput, proveAccount, type SignInNeeds, wrongCredentials } from './prove-account.ts'
import { SESSION_LIFETIME_S } from './sessions.ts'

const SignIn = z
  .strictObject({
    email: z
      .string('must be a string')
      .min(1, 'must not be empty')
      .max(EMAIL_MAX_CHARACTERS, `must have at most ${EMAIL_MAX_CHARACTERS} characters`)
      .refine((text) => !text.includes('\0'), 'must be an email address'),
    password: passwordInput,
    cookie: cookieInput,
  })
  .meta({ id: 'SignIn' })

export const signInRoute = route({
  method: 'post',
  path: '/v1/session',
  operationId: 'signIn',
  tag: 'Session',
  summary: 'Sign in',
  description:
    `A session ends after ${SESSION_LIFETIME_S / 3_600} hours, or before when it is not used for \`idleMinutes\`. A new password ends all sessions of its user. ` +
    'In a browser, the session whose cookie this one replaces ends.',
  access: requireBuiltInAccounts,
  body: SignIn,
  answers: {
    201: { description: 'Signed in.', schema: CreatedSession, headers: ['Set-Cookie'] },
  },
  problems: ['invalid_credentials', 'forbidden', 'rate_limited', 'unavailable'],
  async handle({ body: { email, password, cookie: inCookie } }, needs: SignInNeeds, ctx) {
    const { db, cookie } = needs
    if (inCookie) cookie.requireOwnPage(ctx)
    const readAccounts = () => listAccounts(db, email)
    const { account } = await proveAccount(ctx, needs, { email, password, readAccounts })
    if (!account) throw wrongCredentials()
    return beginSession(ctx, needs, { inCookie, how: 'password' }, async (transaction) => {
      // The password may have changed since it was checked.
      if (!(await lockPassword(transaction, account))) throw wrongCredentials()
      return { user: account }
    })
  },
})
