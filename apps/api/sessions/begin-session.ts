import { z } from 'zod'
import { hashSecret } from '#shared/oauth/ids.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import { newSessionToken } from '../accounts/new-ids.ts'
import type { User } from '../accounts/people.ts'
import { throwIfAnswered } from '../http/problem.ts'
import type { ApiContext } from '../http/state.ts'
import type { SessionCookie } from './cookie.ts'
import { requireUnfencedDatabase } from './fence.ts'
import { Session, type SessionLimits, sessionAnswer } from './read-session.ts'
import { type EndedSession, logSessionEnd, logSignIn, type SignInMethod } from './session-events.ts'
import { deleteSession, insertSession, SESSION_LIFETIME_S } from './sessions.ts'
import { rememberSignInAddress } from './sign-in-addresses.ts'

/** Whether the session is set as a cookie, in the input of the routes that begin one. */
export const cookieInput = z.boolean('must be true or false').default(false).meta({
  description: 'true: set the session as an HttpOnly cookie instead of returning it.',
})

export const CreatedSession = z
  .object({
    sessionToken: z.string().optional().meta({ description: 'Omitted when set as a cookie.' }),
    ...Session.shape,
  })
  .meta({ id: 'CreatedSession' })

/** The session's user, and the sessions that their sign-in ended. */
export interface AuthenticatedUser {
  user: User
  endedSessions?: EndedSession[]
}

interface SignInProof {
  inCookie: boolean
  how: SignInMethod
  /** When the person authenticated, if not just now. */
  authenticatedAt?: Date
  /** The provider that the person signed in with. */
  openidIssuer?: string
  /** Names the session to end, in base64url, where the browser may not send its cookie. */
  replacedTokenHash?: string | undefined
  /** If it is aborted before the commit, no session starts: no one would get its token. */
  signal?: AbortSignal
}

/**
 * Starts a session for someone who has just authenticated, and returns it in the answer or in a cookie. The
 * session whose cookie it replaces ends: no one but a thief could still use it. `authenticateUser` runs
 * first, in the same transaction, which is rolled back if it throws.
 * @throws Problem unavailable while a restored database is unconfirmed.
 */
export async function beginSession(
  ctx: ApiContext,
  needs: SessionLimits & { db: Database; cookie: SessionCookie },
  { inCookie, how, replacedTokenHash, signal, ...proof }: SignInProof,
  authenticateUser: (transaction: Queryable) => Promise<AuthenticatedUser>,
): Promise<z.infer<typeof CreatedSession>> {
  const { db, clock, cookie } = needs
  const sessionToken = newSessionToken()
  const tokenHash = hashSecret(sessionToken)
  const now = new Date(clock.now())
  const replacedToken = inCookie ? cookie.read(ctx) : undefined
  const replacedHash =
    replacedToken === undefined
      ? replacedTokenHash && Buffer.from(replacedTokenHash, 'base64url')
      : hashSecret(replacedToken)
  const { clientAddress } = ctx.state.request
  const browser = inCookie ? (cookie.browser.read(ctx) ?? cookie.browser.create()) : undefined
  // Only password sign-ins track known addresses.
  const origin = how === 'openid' ? undefined : { address: addressSubject(clientAddress), browser }
  const { answer, endedSessions, ...sessionIds } = await db.transaction(async (transaction) => {
    await requireUnfencedDatabase(transaction)
    const { user, endedSessions = [] } = await authenticateUser(transaction)
    const { userId } = user
    const replacedSession = replacedHash && (await deleteSession(transaction, replacedHash))
    const replacements = replacedSession ? [{ ...replacedSession, why: 'replaced' as const }] : []
    const client = { address: clientAddress, userAgent: ctx.get('User-Agent') }
    const sessionId = await insertSession(transaction, { tokenHash, userId, now, ...proof, ...client })
    if (origin) await rememberSignInAddress(transaction, { ...origin, userId, now })
    const expiresAt = new Date(now.getTime() + SESSION_LIFETIME_S * 1_000)
    const answer = await sessionAnswer(transaction, { ...user, expiresAt }, needs)
    signal?.throwIfAborted()
    throwIfAnswered(ctx)
    return { userId, sessionId, answer, endedSessions: [...endedSessions, ...replacements] }
  })
  ctx.state.userId = sessionIds.userId
  logSignIn(ctx, sessionIds, how)
  for (const endedSession of endedSessions) logSessionEnd(ctx.state.log, { ...endedSession, from: ctx })
  if (!inCookie) return { sessionToken, ...answer }
  cookie.set(ctx, sessionToken)
  if (origin?.browser) cookie.browser.set(ctx, origin.browser)
  return answer
}
