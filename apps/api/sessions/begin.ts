import type { z } from 'zod'
import type { User } from '#shared/accounts/people.ts'
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
import { logSignIn, type SignInWay } from './session-events.ts'
import { SESSION_LIFETIME_S, startSession } from './sessions.ts'
import { noteAddress } from './sign-in-addresses.ts'

/** Undoes what the transaction has done. */
class NobodyAdmitted extends Error {}

/**
 * Begins a session for someone who has just proved who they are, and hands it over: in the answer, or in a cookie.
 * @param how `authenticatedAt`: when the person proved who they are, if not just now.
 * @param admit runs first, in the same transaction. It returns whose session it will be.
 * @returns undefined when `admit` returned nobody; nothing is done then.
 * @throws Problem unavailable when the database was restored and is not confirmed; nothing is done then either.
 */
export async function beginSession(
  ctx: ApiContext,
  { db, clock, cookie }: { db: Database; clock: Clock; cookie: SessionCookie },
  { inCookie, how, authenticatedAt }: { inCookie: boolean; how: SignInWay; authenticatedAt?: Date },
  admit: (transaction: Queryable) => Promise<User | undefined>,
): Promise<z.infer<typeof CreatedSession> | undefined> {
  const sessionToken = newSessionToken()
  const tokenHash = hashSecret(sessionToken)
  const now = new Date(clock.now())
  const { clientAddress } = ctx.state.request
  const begun = await db
    .transaction(async (transaction) => {
      await requireConfirmed(transaction)
      const user = await admit(transaction)
      if (!user) throw new NobodyAdmitted()
      const { userId } = user
      const from = { address: clientAddress, userAgent: ctx.get('User-Agent') }
      const sessionId = await startSession(transaction, {
        tokenHash,
        userId,
        now,
        authenticatedAt,
        ...from,
      })
      await noteAddress(transaction, { userId, address: addressSubject(clientAddress), now })
      return { userId, sessionId, answer: await sessionAnswer(transaction, user, SESSION_LIFETIME_S) }
    })
    .catch((error: unknown) => {
      if (error instanceof NobodyAdmitted) return undefined
      throw error
    })
  if (!begun) return undefined
  const { answer } = begun
  ctx.state.userId = begun.userId
  logSignIn(ctx, begun, how)
  if (!inCookie) return { sessionToken, ...answer }
  cookie.set(ctx, sessionToken)
  return answer
}
