import { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { vendorId } from '../accounts/actor.ts'
import { COMPANY_ROLES, listMemberships, type User } from '../accounts/people.ts'
import { instant } from '../http/instant.ts'
import { route } from '../http/route.ts'
import { signedIn } from './access.ts'

export const Session = z
  .object({
    expiresIn: z.int().meta({ description: 'Seconds from now. Using the session does not extend it.' }),
    expiresAt: instant,
    idleMinutes: z.int().meta({ description: 'Unused for this long, it ends before `expiresAt`.' }),
    user: z.object({ userId: z.string(), name: z.string(), email: z.string() }),
    companies: z.array(
      z.object({
        vendorId,
        name: z.string(),
        timezone: z.string().meta({ examples: ['Europe/Berlin'] }),
        role: z.enum(COMPANY_ROLES),
        status: z.enum(['active', 'suspended']),
        ownerName: z.string().nullable().meta({ description: 'Whom to ask for permission.' }),
      }),
    ),
  })
  .meta({ id: 'Session' })

export const readSessionRoute = route({
  method: 'get',
  path: '/v1/session',
  operationId: 'readSession',
  tag: 'Session',
  summary: 'Read your session',
  description: "The session's user and the companies they belong to.",
  access: signedIn,
  answers: { 200: { description: 'The session.', schema: Session } },
  handle: ({ session }, needs: SessionLimits & { db: Database }) => sessionAnswer(needs.db, session, needs),
})

export interface SessionLimits {
  clock: Clock
  /** A session unused for this long has ended. */
  sessionIdle_ms: number
}

export async function sessionAnswer(
  db: Queryable,
  { userId, name, email, expiresAt }: User & { expiresAt: Date },
  { clock, sessionIdle_ms }: SessionLimits,
): Promise<z.infer<typeof Session>> {
  return {
    expiresIn: Math.floor((expiresAt.getTime() - clock.now()) / 1_000),
    expiresAt: expiresAt.toISOString(),
    idleMinutes: sessionIdle_ms / 60_000,
    user: { userId, name, email },
    companies: await listMemberships(db, userId),
  }
}
