import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { ApiContext } from '../http/state.ts'
import { logSessionEnd, type SessionName } from './session-end.ts'
import { deleteExpiredSessions } from './sessions.ts'

/** How the person authenticated. */
export type SignInMethod = 'password' | 'invitation' | 'openid'

/** Logs a sign-in. Call it after the commit. */
export function logSignIn(ctx: ApiContext, { userId, sessionId }: SessionName, how: SignInMethod): void {
  const { clientAddress } = ctx.state.request
  ctx.state.log.info({ event: 'sign_in.succeeded', userId, sessionId, how, clientAddress }, 'signed in')
}

/** Removes at most `limit` expired sessions, oldest first, and logs each. */
export async function endExpiredSessions(
  { db, log }: { db: Database; log: Log },
  { now, limit }: { now: Date; limit: number },
): Promise<void> {
  for (const session of await deleteExpiredSessions(db, { now, limit }))
    logSessionEnd(log, { ...session, why: 'expired' })
}
