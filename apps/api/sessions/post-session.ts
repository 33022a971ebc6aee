import { createHash } from 'node:crypto'
import { hashSecret, newSessionToken } from '#shared/oauth/ids.ts'
import { findUserByEmail, normalizedEmail } from '#shared/people.ts'
import { Problem } from '#shared/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addressSubject, type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { bearerChallenge } from '../http/bearer.ts'
import { anyone, type Route, route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { SESSION_REALM } from './access.ts'
import { createPasswordCheck } from './password-check.ts'
import { NewSession, SignIn } from './schemas.ts'
import { sessionAnswer } from './session-answer.ts'
import { SESSION_LIFETIME_S, startSession } from './sessions.ts'

export interface SignInDependencies {
  db: Database
  clock: Clock
  limits: { perAccount: RateLimit; perAddress: RateLimit }
}

export function postSession({ db, clock, limits }: SignInDependencies): Route {
  const checkPassword = createPasswordCheck()
  return route({
    method: 'post',
    path: '/v1/session',
    operationId: 'signIn',
    tag: 'Session',
    summary: 'Sign in',
    description: 'A session lasts 12 hours. A new password ends all sessions of its user.',
    by: anyone,
    body: SignIn,
    answers: { 201: { description: 'Signed in.', schema: NewSession } },
    problems: ['invalid_credentials', 'rate_limited', 'unavailable'],
    async handle({ body: { email, password } }, ctx) {
      await throttle(ctx, limits, email)
      const user = await findUserByEmail(db, email)
      if (!(await checkPassword(password, user?.passwordHash)) || !user) throw wrongCredentials()
      const sessionToken = newSessionToken()
      const tokenHash = hashSecret(sessionToken)
      const started = await startSession(db, { tokenHash, user, now: new Date(clock.now()) })
      if (!started) throw wrongCredentials()
      const { userId, name } = user
      ctx.state.session = { userId, name, email: user.email, tokenHash, expiresAt: started.expiresAt }
      return { sessionToken, ...(await sessionAnswer(db, user, SESSION_LIFETIME_S)) }
    },
  })
}

/** Every attempt counts, right or wrong, known account or not, so that the limit says nothing about an account. */
async function throttle(ctx: ApiContext, limits: SignInDependencies['limits'], email: string): Promise<void> {
  const address = addressSubject(ctx.state.request.clientAddress)
  await count(ctx, limits.perAddress, address)
  // An account is counted apart for each address: a stranger cannot keep its owner out.
  const account = `${normalizedEmail(email)} ${address}`
  await count(ctx, limits.perAccount, createHash('sha256').update(account).digest('base64url'))
}

async function count(ctx: ApiContext, limit: RateLimit, subject: string): Promise<void> {
  const verdict = await limit.consume(subject)
  ctx.set(rateLimitHeaders(verdict))
  if (!verdict.allowed) throw new Problem('rate_limited', 'There were too many attempts to sign in.')
}

const wrongCredentials = (): Problem =>
  new Problem('invalid_credentials', 'The email address or the password is wrong.', {
    headers: { 'WWW-Authenticate': bearerChallenge({ realm: SESSION_REALM }) },
  })
