import { createHash } from 'node:crypto'
import { z } from 'zod'
import { hashSecret, newSessionToken } from '#shared/oauth/ids.ts'
import { PASSWORD_MAX_BYTES } from '#shared/passwords.ts'
import { findUserByEmail, listMemberships, normalizedEmail, type User } from '#shared/people.ts'
import { Problem } from '#shared/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addressSubject, type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { bearerChallenge } from '../http/bearer.ts'
import { body } from '../http/body.ts'
import { documented } from '../http/documented.ts'
import { createRouter } from '../http/routes.ts'
import { vendorId } from '../http/schemas.ts'
import type { ApiContext, ApiMiddleware, ApiRouter, SessionState } from '../http/state.ts'
import { SESSION_REALM } from './middleware.ts'
import { createPasswordCheck } from './password-check.ts'
import { deleteSession, SESSION_LIFETIME_S, startSession } from './sessions.ts'

const EMAIL_MAX_CHARACTERS = 254

export const SignIn = z
  .strictObject({
    email: z
      .string('must be a string')
      .min(1, 'must not be empty')
      .max(EMAIL_MAX_CHARACTERS, `must have at most ${EMAIL_MAX_CHARACTERS} characters`)
      .refine((text) => !text.includes('\0'), 'must be an email address'),
    password: z
      .string('must be a string')
      .min(1, 'must not be empty')
      .refine(
        (text) => Buffer.byteLength(text) <= PASSWORD_MAX_BYTES,
        `must have at most ${PASSWORD_MAX_BYTES} bytes`,
      ),
  })
  .meta({ id: 'SignIn' })

const session = {
  expiresIn: z.int().meta({ description: 'Seconds from now. Using the session does not extend it.' }),
  user: z.object({ userId: z.string(), name: z.string(), email: z.string() }),
  companies: z.array(
    z.object({
      vendorId,
      name: z.string(),
      role: z.enum(['owner', 'admin', 'member']),
      status: z.enum(['active', 'suspended']),
    }),
  ),
}

export const Session = z.object(session).meta({ id: 'Session' })
export const NewSession = z.object({ sessionToken: z.string(), ...session }).meta({ id: 'NewSession' })

export interface SessionDependencies {
  db: Database
  clock: Clock
  session: ApiMiddleware
  limits: { perAccount: RateLimit; perAddress: RateLimit }
}

export function createSessionRoutes({ db, clock, session, limits }: SessionDependencies): ApiRouter {
  const checkPassword = createPasswordCheck()

  const signIn: ApiMiddleware = async (ctx) => {
    const { email, password } = ctx.state.body as z.infer<typeof SignIn>
    await throttle(ctx, limits, email)
    const user = await findUserByEmail(db, email)
    if (!(await checkPassword(password, user?.passwordHash)) || !user) throw wrongCredentials()
    const sessionToken = newSessionToken()
    const tokenHash = hashSecret(sessionToken)
    const started = await startSession(db, { tokenHash, user, now: new Date(clock.now()) })
    if (!started) throw wrongCredentials()
    const { userId, name } = user
    ctx.state.session = { userId, name, email: user.email, tokenHash, expiresAt: started.expiresAt }
    ctx.status = 201
    ctx.body = { sessionToken, ...(await about(user, SESSION_LIFETIME_S)) }
  }

  const get: ApiMiddleware = async (ctx) => {
    const { expiresAt, ...user } = ctx.state.session as SessionState
    ctx.body = await about(user, Math.floor((expiresAt.getTime() - clock.now()) / 1_000))
  }

  const signOut: ApiMiddleware = async (ctx) => {
    await deleteSession(db, (ctx.state.session as SessionState).tokenHash)
    ctx.status = 204
  }

  async function about({ userId, name, email }: User, expiresIn: number): Promise<z.infer<typeof Session>> {
    return { expiresIn, user: { userId, name, email }, companies: await listMemberships(db, userId) }
  }

  return createRouter()
    .post(
      '/v1/session',
      body(SignIn),
      documented(signIn, {
        tag: 'Session',
        summary: 'Sign in',
        description: 'A session lasts 12 hours. A new password ends all sessions of its user.',
        answers: { 201: { description: 'Signed in.', schema: NewSession } },
        problems: ['invalid_credentials', 'rate_limited', 'unavailable'],
      }),
    )
    .get(
      '/v1/session',
      session,
      documented(get, {
        tag: 'Session',
        summary: 'Who is signed in',
        answers: { 200: { description: 'The session.', schema: Session } },
      }),
    )
    .delete(
      '/v1/session',
      session,
      documented(signOut, {
        tag: 'Session',
        summary: 'Sign out',
        answers: { 204: { description: 'The session token is dead.' } },
      }),
    )
}

/** Every attempt counts, right or wrong, known account or not, so that the limit says nothing about an account. */
async function throttle(
  ctx: ApiContext,
  limits: SessionDependencies['limits'],
  email: string,
): Promise<void> {
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
