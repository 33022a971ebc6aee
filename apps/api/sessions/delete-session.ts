import { z } from 'zod'
import { endSessions } from '#shared/accounts/people.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type Route, route } from '../http/route.ts'
import type { SessionAccess } from './access.ts'
import type { SessionCookie } from './cookie.ts'
import { logSessionEnd } from './session-events.ts'
import { deleteSession as endSession } from './sessions.ts'

const SignOutQuery = z.strictObject({
  all: z
    .enum(['true', 'false'], 'must be true or false')
    .default('false')
    .meta({ description: "true: ends all of this user's sessions." }),
})

export const deleteSession = ({
  db,
  cookie,
  session: by,
}: {
  db: Database
  cookie: SessionCookie
  session: SessionAccess
}): Route =>
  route({
    method: 'delete',
    path: '/v1/session',
    operationId: 'signOut',
    tag: 'Session',
    summary: 'Sign out',
    description: 'Ends this session at once; with `all=true`, all sessions of its user.',
    by,
    query: SignOutQuery,
    answers: {
      204: {
        description: 'The session has ended, or all of them.',
        headers: { 'Set-Cookie': 'Removes the cookie, if there was one.' },
      },
    },
    async handle({ session: { userId, sessionId, tokenHash }, query: { all } }, ctx) {
      const { log } = ctx.state
      if (all === 'true') {
        const why = 'signed_out_everywhere'
        for (const ended of await endSessions(db, userId))
          logSessionEnd(log, { userId, sessionId: ended, why, from: ctx })
      } else if (await endSession(db, tokenHash)) {
        logSessionEnd(log, { userId, sessionId, why: 'signed_out', from: ctx })
      }
      // With a Bearer header, the cookie is ignored: it may be another session's.
      if (ctx.headers.authorization === undefined && cookie.read(ctx) !== undefined) cookie.clear(ctx)
      return undefined
    },
  })
