import type { z } from 'zod'
import { hashSecret } from '#shared/oauth/ids.ts'
import { newSessionToken } from '#shared/oauth/new-ids.ts'
import type { User } from '#shared/people.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import type { ApiContext } from '../http/state.ts'
import type { SessionCookie } from './cookie.ts'
import { requireConfirmed } from './fence.ts'
import type { NewSession } from './schemas.ts'
import { sessionAnswer } from './session-answer.ts'
import { SESSION_LIFETIME_S, startSession } from './sessions.ts'
import { noteAddress } from './sign-in-addresses.ts'

/** Undoes what the transaction has done. */
class PasswordChanged extends Error {}

/**
 * Begins a session for someone who has just proved who they are, and hands it over: in the answer, or in a cookie.
 * @param prepare runs first, in the same transaction.
 * @returns undefined when the password has been changed meanwhile; nothing is done then.
 * @throws Problem unavailable when the database was restored and is not confirmed; nothing is done then either.
 */
export async function beginSession(
  ctx: ApiContext,
  { db, clock, cookie }: { db: Database; clock: Clock; cookie: SessionCookie },
  { user, inCookie }: { user: User & { passwordHash: string }; inCookie: boolean },
  prepare: (transaction: Queryable) => Promise<void> = async () => {},
): Promise<z.infer<typeof NewSession> | undefined> {
  const sessionToken = newSessionToken()
  const tokenHash = hashSecret(sessionToken)
  const now = new Date(clock.now())
  const { clientAddress } = ctx.state.request
  const answer = await db
    .transaction(async (transaction) => {
      await requireConfirmed(transaction)
      await prepare(transaction)
      const from = { address: clientAddress, userAgent: ctx.get('User-Agent') }
      if (!(await startSession(transaction, { tokenHash, user, now, ...from }))) throw new PasswordChanged()
      await noteAddress(transaction, { userId: user.userId, address: addressSubject(clientAddress), now })
      return sessionAnswer(transaction, user, SESSION_LIFETIME_S)
    })
    .catch((error: unknown) => {
      if (error instanceof PasswordChanged) return undefined
      throw error
    })
  if (!answer) return undefined
  ctx.state.userId = user.userId
  if (!inCookie) return { sessionToken, ...answer }
  cookie.set(ctx, sessionToken)
  return answer
}
