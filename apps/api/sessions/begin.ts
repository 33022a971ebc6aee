import type { z } from 'zod'
import type { User } from '#shared/accounts/people.ts'
import { rememberPlace } from '#shared/accounts/sign-in-places.ts'
import { hashSecret } from '#shared/oauth/ids.ts'
import { newSessionToken } from '#shared/oauth/new-ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import type { ApiContext } from '../http/state.ts'
import type { SessionCookie } from './cookie.ts'
import { requireConfirmed } from './fence.ts'
import type { CreatedSession } from './schemas.ts'
import { sessionAnswer } from './session-answer.ts'
import { logSignIn, type SignInMethod } from './session-events.ts'
import { type OpenidSession, SESSION_LIFETIME_S, startSession } from './sessions.ts'

/** Rolls the transaction back. */
class NotAdmitted extends Error {}

/**
 * Starts a session for someone who has just authenticated, and returns it in the answer or in a cookie.
 * @param how `authenticatedAt`: when the person authenticated, if not just now. `openid`: the provider's session.
 * @param admit runs first, in the same transaction, and returns the session's user.
 * @returns undefined, with nothing done, when `admit` returned no user.
 * @throws Problem unavailable, with nothing done, while a restored database is unconfirmed.
 */
export async function beginSession(
  ctx: ApiContext,
  { db, clock, cookie }: { db: Database; clock: Clock; cookie: SessionCookie },
  {
    inCookie,
    how,
    authenticatedAt,
    openid,
  }: { inCookie: boolean; how: SignInMethod; authenticatedAt?: Date; openid?: OpenidSession },
  admit: (transaction: Queryable) => Promise<User | undefined>,
): Promise<z.infer<typeof CreatedSession> | undefined> {
  const sessionToken = newSessionToken()
  const tokenHash = hashSecret(sessionToken)
  const now = new Date(clock.now())
  const { clientAddress } = ctx.state.request
  const browser = inCookie ? (cookie.browser.read(ctx) ?? cookie.browser.create()) : undefined
  // Places count when a password is tried. An account that the provider proves has none.
  const place = how === 'openid' ? undefined : { address: addressSubject(clientAddress), browser }
  const begun = await db
    .transaction(async (transaction) => {
      await requireConfirmed(transaction)
      const user = await admit(transaction)
      if (!user) throw new NotAdmitted()
      const { userId } = user
      const from = { address: clientAddress, userAgent: ctx.get('User-Agent') }
      const sessionId = await startSession(transaction, {
        tokenHash,
        userId,
        now,
        authenticatedAt,
        openid,
        ...from,
      })
      if (place) await rememberPlace(transaction, { ...place, userId, now })
      return { userId, sessionId, answer: await sessionAnswer(transaction, user, SESSION_LIFETIME_S) }
    })
    .catch((error: unknown) => {
      if (error instanceof NotAdmitted) return undefined
      throw error
    })
  if (!begun) return undefined
  const { answer } = begun
  ctx.state.userId = begun.userId
  logSignIn(ctx, begun, how)
  if (!inCookie) return { sessionToken, ...answer }
  cookie.set(ctx, sessionToken)
  if (place?.browser) cookie.browser.set(ctx, place.browser)
  return answer
}
