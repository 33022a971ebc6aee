import { hashSecret, SESSION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import { Problem } from '#shared/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { bearerChallenge, bearerOf } from '../http/bearer.ts'
import { documented } from '../http/documented.ts'
import type { ApiMiddleware } from '../http/state.ts'
import { findSession } from './sessions.ts'

const TOKEN = new RegExp(`^${SESSION_TOKEN_PATTERN.source}$`)
export const SESSION_REALM = 'workspace'

/**
 * Knows the person by the session token, and leaves them in `ctx.state.session`.
 * @throws Problem 401 without a live session. An access token is not a session token.
 */
export function createSessionMiddleware({ db, clock }: { db: Database; clock: Clock }): ApiMiddleware {
  const middleware: ApiMiddleware = async (ctx, next) => {
    const bearer = bearerOf(ctx.req)
    if (bearer.kind === 'none') throw unauthenticated('Send a session token as Authorization: Bearer.')
    const tokenHash = bearer.kind === 'token' && TOKEN.test(bearer.token) ? hashSecret(bearer.token) : null
    const session = tokenHash && (await findSession(db, { tokenHash, now: new Date(clock.now()) }))
    if (!session) throw unauthenticated('The session has ended or never was. Sign in again.', 'invalid_token')
    ctx.state.session = { ...session, tokenHash }
    await next()
  }
  return documented(middleware, {
    security: { scheme: 'session' },
    problems: ['unauthenticated', 'unavailable'],
  })
}

function unauthenticated(detail: string, error?: string): Problem {
  const challenge = bearerChallenge({ realm: SESSION_REALM, error })
  return new Problem('unauthenticated', detail, { headers: { 'WWW-Authenticate': challenge } })
}
