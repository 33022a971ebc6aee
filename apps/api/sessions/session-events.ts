import type { Log } from '#shared/process/log.ts'
import type { ApiContext } from '../http/state.ts'
import { type Purge, purgeByTime } from '../stores/purge.ts'

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

/** Returns the purge of expired sessions, which logs each. */
export const createSessionPurge = (log: Log): Purge =>
  purgeByTime({
    table: 'sessions',
    key: 'token_hash',
    time: 'expires_at',
    kept_ms: 0,
    returning: 'returning user_id as "userId", session_id as "sessionId"',
    onDeleted(sessions) {
      for (const session of sessions as SessionIds[]) logSessionEnd(log, { ...session, why: 'expired' })
    },
  })
