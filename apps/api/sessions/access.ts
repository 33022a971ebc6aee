import { bearerChallenge, bearerOf } from '#shared/access-tokens/bearer.ts'
import { hashSecret, SESSION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import { Problem } from '#shared/problems/problems.ts'
import { addressSubject, type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { pagesAsked } from '../http/page.ts'
import type { Access } from '../http/route.ts'
import type { ApiContext, SessionState } from '../http/state.ts'
import type { SessionDependencies } from './dependencies.ts'
import { restored } from './fence.ts'
import { findSession, SEEN_EVERY_MS, touchSession } from './sessions.ts'

const TOKEN = new RegExp(`^${SESSION_TOKEN_PATTERN.source}$`)
export const SESSION_REALM = 'workspace'

export type SessionAccess = Access<{ session: SessionState }>

interface SessionAccessDependencies
  extends Pick<SessionDependencies, 'db' | 'clock' | 'cookie' | 'sessionIdle_ms'> {
  limits: {
    /** Counts invalid session tokens by address. */
    guessesPerAddress: RateLimit
    /** Counts requests by session, one for a long page as several. */
    requestsPerSession: RateLimit
  }
}

/**
 * Admits requests with a live session, as Bearer or else as a cookie; others get 401. An access token is not
 * a session token.
 */
export function createSessionAccess({
  db,
  clock,
  cookie,
  sessionIdle_ms: idle_ms,
  limits,
}: SessionAccessDependencies): SessionAccess {
  /** Returns undefined for anything that cannot be a session token. */
  function presentedToken(ctx: ApiContext): string | undefined {
    const bearer = bearerOf(ctx.req)
    if (bearer.kind === 'token') return TOKEN.test(bearer.token) ? bearer.token : undefined
    if (bearer.kind !== 'none') return undefined
    const token = cookie.read(ctx)
    if (token === undefined) throw unauthenticated('Send a session token as Authorization: Bearer.')
    cookie.requireOwnPage(ctx)
    return token
  }

  async function admit(ctx: ApiContext): Promise<{ session: SessionState }> {
    const token = presentedToken(ctx)
    const tokenHash = token === undefined ? undefined : hashSecret(token)
    const now_ms = clock.now()
    const found = tokenHash && (await findSession(db, { tokenHash, now: new Date(now_ms), idle_ms }))
    if (!found) {
      const guesses = await limits.guessesPerAddress.consume(addressSubject(ctx.state.request.clientAddress))
      if (!guesses.allowed) throw tooMany('Too many invalid session tokens.', rateLimitHeaders(guesses))
      throw unauthenticated('The session is invalid or has ended. Sign in again.', 'invalid_token')
    }
    if (found.fenced) throw restored()
    const session = { ...found, tokenHash }
    ctx.state.session = session
    const rate = await limits.requestsPerSession.consume(found.sessionId, pagesAsked(ctx.query))
    ctx.set(rateLimitHeaders(rate))
    if (!rate.allowed) throw tooMany('Too many requests in this session.')
    if (now_ms - found.lastSeenAt.getTime() >= SEEN_EVERY_MS) {
      await touchSession(db, { tokenHash, now: new Date(now_ms) })
    }
    return { session }
  }

  return {
    admit,
    security: { scheme: 'session' },
    problems: ['unauthenticated', 'forbidden', 'rate_limited', 'unavailable'],
  }
}

const tooMany = (detail: string, headers?: Record<string, string>): Problem =>
  new Problem('rate_limited', detail, headers && { headers })

function unauthenticated(detail: string, error?: string): Problem {
  const challenge = bearerChallenge({ realm: SESSION_REALM, error })
  return new Problem('unauthenticated', detail, { headers: { 'WWW-Authenticate': challenge } })
}
