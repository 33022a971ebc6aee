import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { ApiContext } from '../http/state.ts'
import { deleteExpiredSessions } from './sessions.ts'

interface SessionIds {
  userId: string
  /** Identifies the session to its user. It is not a credential. */
  sessionId: string
}

/** How the person authenticated. */
export type SignInMethod = 'password' | 'invitation' | 'openid'

export interface EndedSession extends SessionIds {
  why:
    | 'signed_out'
    | 'signed_out_everywhere'
    | 'password_changed'
    /** Another sign-in of the same browser took its place. */
    | 'replaced'
    | 'address_claimed'
    | 'account_linked'
    | 'person_removed'
    | 'expired'
}

/** Logs a sign-in. Call it after the commit. */
export function logSignIn(ctx: ApiContext, { userId, sessionId }: SessionIds, how: SignInMethod): void {
  const { clientAddress } = ctx.state.request
  ctx.state.log.info({ event: 'sign_in.succeeded', userId, sessionId, how, clientAddress }, 'signed in')
}

/** Logs the end of a session. Call it after the commit. @param from whoever ended it, unless it expired. */
export function logSessionEnd(
  log: Log,
  { userId, sessionId, why, from }: EndedSession & { from?: ApiContext },
): void {
  const by = from && { clientAddress: from.state.request.clientAddress }
  // Field by field: a session's record also has the hash of its token.
  log.info({ event: 'session.ended', userId, sessionId, why, ...by }, 'session ended')
}

/** Removes at most `limit` expired sessions, oldest first, and logs each. */
export async function endExpiredSessions(
  { db, log }: { db: Database; log: Log },
  { now, limit }: { now: Date; limit: number },
): Promise<void> {
  for (const session of await deleteExpiredSessions(db, { now, limit }))
    logSessionEnd(log, { ...session, why: 'expired' })
}
