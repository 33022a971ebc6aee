import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { ApiContext } from '../http/state.ts'
import { deleteExpiredSessions } from './sessions.ts'

/** How the person authenticated. */
export type SignInMethod = 'password' | 'invitation' | 'openid'

export type SessionEnd =
  | 'signed_out'
  | 'signed_out_everywhere'
  | 'password_changed'
  | 'signed_out_at_provider'
  | 'expired'

interface SessionName {
  userId: string
  /** Identifies the session to its user; it is not a credential. */
  sessionId: string
}

/** Logs a sign-in. Call it after the commit. */
export function logSignIn(ctx: ApiContext, session: SessionName, how: SignInMethod): void {
  const { clientAddress } = ctx.state.request
  ctx.state.log.info({ event: 'sign_in.succeeded', ...named(session), how, clientAddress }, 'signed in')
}

/** Logs the end of a session. Call it after the commit. @param from whoever ended it, unless it expired. */
export function logSessionEnd(
  log: Log,
  { why, from, ...session }: SessionName & { why: SessionEnd; from?: ApiContext },
): void {
  const by = from && { clientAddress: from.state.request.clientAddress }
  log.info({ event: 'session.ended', ...named(session), why, ...by }, 'session ended')
}

/** Removes at most `limit` expired sessions, oldest first, and logs each. */
export async function endExpiredSessions(
  { db, log }: { db: Database; log: Log },
  { now, limit }: { now: Date; limit: number },
): Promise<void> {
  for (const session of await deleteExpiredSessions(db, { now, limit }))
    logSessionEnd(log, { ...session, why: 'expired' })
}

/** Field by field: a session's record also has the hash of its token. */
const named = ({ userId, sessionId }: SessionName): SessionName => ({ userId, sessionId })
