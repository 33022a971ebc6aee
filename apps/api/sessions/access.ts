import { hashSecret, SESSION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import { Problem } from '#shared/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { bearerChallenge, bearerOf } from '../http/bearer.ts'
import type { Access } from '../http/route.ts'
import type { SessionState } from '../http/state.ts'
import { findSession } from './sessions.ts'

const TOKEN = new RegExp(`^${SESSION_TOKEN_PATTERN.source}$`)
export const SESSION_REALM = 'workspace'

export type SessionAccess = Access<{ session: SessionState }>

/** Admits whoever sends the token of a live session; anyone else gets 401. An access token is not a session token. */
export function createSessionAccess({ db, clock }: { db: Database; clock: Clock }): SessionAccess {
  return {
    async admit(ctx) {
      const bearer = bearerOf(ctx.req)
      if (bearer.kind === 'none') throw unauthenticated('Send a session token as Authorization: Bearer.')
      const tokenHash = bearer.kind === 'token' && TOKEN.test(bearer.token) ? hashSecret(bearer.token) : null
      const found = tokenHash && (await findSession(db, { tokenHash, now: new Date(clock.now()) }))
      if (!found) throw unauthenticated('The session has ended or never was. Sign in again.', 'invalid_token')
      const session = { ...found, tokenHash }
      ctx.state.session = session
      return { session }
    },
    security: { scheme: 'session' },
    problems: ['unauthenticated', 'unavailable'],
  }
}

function unauthenticated(detail: string, error?: string): Problem {
  const challenge = bearerChallenge({ realm: SESSION_REALM, error })
  return new Problem('unauthenticated', detail, { headers: { 'WWW-Authenticate': challenge } })
}
