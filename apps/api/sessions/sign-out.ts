import { z } from 'zod'
import type { Database } from '#shared/stores/postgres.ts'
import { route } from '../http/route.ts'
import { signedIn } from './access.ts'
import type { SessionCookie } from './cookie.ts'
import { logSessionEnd } from './session-events.ts'
import { deleteSession, deleteSessions } from './sessions.ts'

interface SignOutNeeds {
  db: Database
  cookie: SessionCookie
  /** The OpenID provider that people sign in with, if there is one. */
  openid: { settings: { issuer: string }; provider: { signOutUrl(): Promise<URL | undefined> } } | undefined
}

const SignOutQuery = z.strictObject({
  all: z
    .enum(['true', 'false'], 'must be true or false')
    .default('false')
    .meta({ description: "true: ends all of this user's sessions." }),
})

const SignedOut = z
  .object({ signOutUrl: z.string().meta({ format: 'uri', description: 'At the provider.' }) })
  .meta({ id: 'SignedOut' })

export const signOutRoute = route({
  method: 'delete',
  path: '/v1/session',
  operationId: 'signOut',
  tag: 'Session',
  summary: 'Sign out',
  description:
    'Ends this session at once; with `all=true`, all sessions of its user. If an OpenID provider began it, the ' +
    'answer may say where to sign out there too.',
  access: signedIn,
  query: SignOutQuery,
  answers: {
    200: {
      description: 'The same. The browser goes on to the provider.',
      schema: SignedOut,
      headers: ['Set-Cookie'],
    },
    204: { description: 'The session has ended, or all of them.', headers: ['Set-Cookie'] },
  },
  async handle(
    { session: { userId, sessionId, tokenHash, openidIssuer }, query: { all } },
    { db, cookie, openid }: SignOutNeeds,
    ctx,
  ) {
    const { log } = ctx.state
    if (all === 'true') {
      const why = 'signed_out_everywhere'
      for (const id of await deleteSessions(db, userId))
        logSessionEnd(log, { userId, sessionId: id, why, from: ctx })
    } else if (await deleteSession(db, tokenHash)) {
      logSessionEnd(log, { userId, sessionId, why: 'signed_out', from: ctx })
    }
    // With a Bearer header, the cookie is ignored: it may be another session's.
    if (ctx.headers.authorization === undefined && cookie.read(ctx) !== undefined) cookie.clear(ctx)
    const isOfProvider = openid !== undefined && openidIssuer === openid.settings.issuer
    const url = isOfProvider ? await openid.provider.signOutUrl() : undefined
    ctx.status = url ? 200 : 204
    return url && { signOutUrl: url.href }
  },
})
