import type { Log } from '#shared/process/log.ts'
import type { ApiContext } from '../http/state.ts'
import type { Purge } from '../stores/purge.ts'
import { deleteExpiredSessions, OLDEST_SESSION } from './sessions.ts'

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

/** Deletes expired sessions, and logs each. */
export const createSessionPurge = (log: Log): Purge => ({
  kind: 'sessions',
  oldest: OLDEST_SESSION,
  kept_ms: 0,
  async deleteRows(transaction, { before, limit }) {
    const ended = await deleteExpiredSessions(transaction, { now: before, limit })
    return {
      rowCount: ended.length,
      afterCommit() {
        for (const session of ended) logSessionEnd(log, { ...session, why: 'expired' })
      },
    }
  },
})
