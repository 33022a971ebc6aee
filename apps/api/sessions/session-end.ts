import type { Log } from '#shared/process/log.ts'
import type { ApiContext } from '../http/state.ts'

export interface SessionName {
  userId: string
  /** Identifies the session to its user; it is not a credential. */
  sessionId: string
}

export interface EndedSession extends SessionName {
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

/** Logs the end of a session. Call it after the commit. @param from whoever ended it, unless it expired. */
export function logSessionEnd(
  log: Log,
  { userId, sessionId, why, from }: EndedSession & { from?: ApiContext },
): void {
  const by = from && { clientAddress: from.state.request.clientAddress }
  // Field by field: a session's record also has the hash of its token.
  log.info({ event: 'session.ended', userId, sessionId, why, ...by }, 'session ended')
}
