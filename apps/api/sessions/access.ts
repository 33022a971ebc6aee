import { bearerChallenge, readBearer } from '#shared/access-tokens/bearer.ts'
import { hashSecret, SESSION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addressSubject, type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { countPages } from '../http/page.ts'
import type { Access } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { Problem } from '../problems/problems.ts'
import { isUnavailable } from '../stores/postgres-errors.ts'
import type { SessionCookie } from './cookie.ts'
import { databaseUnconfirmed } from './fence.ts'
import { findSession, SEEN_EVERY_MS, type SessionState, touchSession } from './sessions.ts'

const TOKEN = new RegExp(`^${SESSION_TOKEN_PATTERN.source}$`)
export const SESSION_REALM = 'workspace'

export interface SessionNeeds {
  db: Database
  clock: Clock
  cookie: SessionCookie
  /** A session unused for this long has ended. */
  sessionIdle_ms: number
  /** Counts invalid session tokens by address. */
  sessionGuessesPerAddress: RateLimit
  /** Counts requests by session, one for a long page as several. */
  requestsPerSession: RateLimit
}

/** Admits requests with a live session, as Bearer or else as a cookie. All others get 401. */
export const signedIn: Access<{ session: SessionState }, SessionNeeds> = {
  async admit(ctx, { db, clock, cookie, sessionIdle_ms: idle_ms, ...limits }) {
    const token = presentedToken(ctx, cookie)
    const tokenHash = token === undefined ? undefined : hashSecret(token)
    const now_ms = clock.now()
    const session = tokenHash && (await findSession(db, { tokenHash, now: new Date(now_ms), idle_ms }))
    if (!session) {
      const subject = addressSubject(ctx.state.request.clientAddress)
      const guesses = await limits.sessionGuessesPerAddress.consume(subject)
      if (!guesses.allowed) throw tooMany('Too many invalid session tokens.', rateLimitHeaders(guesses))
      throw unauthenticated('The session is invalid or has ended. Sign in again.', 'invalid_token')
    }
    if (session.fenced) throw databaseUnconfirmed()
    ctx.state.userId = session.userId
    const rate = await limits.requestsPerSession.consume(session.sessionId, countPages(ctx.query))
    ctx.set(rateLimitHeaders(rate))
    if (!rate.allowed) throw tooMany('Too many requests in this session.')
    if (now_ms - session.lastSeenAt.getTime() >= SEEN_EVERY_MS) {
      // While the database takes no writes, people can still read. An unrecorded use extends no session.
      await touchSession(db, { tokenHash, now: new Date(now_ms) }).catch((error) => {
        if (!isUnavailable(error)) throw error
      })
    }
    return { session: { ...session, tokenHash } }
  },
  security: { scheme: 'session' },
  problems: ['unauthenticated', 'forbidden', 'rate_limited', 'unavailable'],
}

/** Returns undefined for anything that cannot be a session token. */
function presentedToken(ctx: ApiContext, cookie: SessionCookie): string | undefined {
  const bearer = readBearer(ctx.req)
  if (bearer.kind === 'token') return TOKEN.test(bearer.token) ? bearer.token : undefined
  if (bearer.kind !== 'none') return undefined
  const token = cookie.read(ctx)
  if (token === undefined) throw unauthenticated('Send a session token as Authorization: Bearer.')
  cookie.requireOwnPage(ctx)
  return token
}

const tooMany = (detail: string, headers?: Record<string, string>): Problem =>
  new Problem('rate_limited', detail, headers && { headers })

function unauthenticated(detail: string, error?: string): Problem {
  const challenge = bearerChallenge({ realm: SESSION_REALM, error })
  return new Problem('unauthenticated', detail, { headers: { 'WWW-Authenticate': challenge } })
}

export interface BuiltInSetting {
  /** Whether people may have a password here. */
  builtInAccounts: boolean
}

/** @throws Problem forbidden while there are no passwords. */
export function checkBuiltInAccounts({ builtInAccounts }: BuiltInSetting): void {
  if (!builtInAccounts)
    throw new Problem('forbidden', 'Sign in with the OpenID provider: there are no passwords here.')
}

/** Admits anyone where links to set a new password are mailed. */
export const requireResetByMail: Access<object, BuiltInSetting & { mailIsOn: boolean }> = {
  async admit(_, { builtInAccounts, mailIsOn }) {
    if (!builtInAccounts || !mailIsOn)
      throw new Problem('not_found', 'Passwords cannot be reset by email here.')
    return {}
  },
  problems: ['not_found'],
}

/** Admits anyone, if people may have passwords here. For the routes that check or set one. */
export const requireBuiltInAccounts: Access<object, BuiltInSetting> = {
  async admit(_, needs) {
    checkBuiltInAccounts(needs)
    return {}
  },
  problems: ['forbidden'],
}
