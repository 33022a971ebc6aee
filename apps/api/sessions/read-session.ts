import { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { vendorId } from '../accounts/actor.ts'
import { COMPANY_ROLES, listMemberships, type User } from '../accounts/people.ts'
import { route } from '../http/route.ts'
import { signedIn } from './access.ts'

export const Session = z
  .object({
    expiresIn: z.int().meta({ description: 'Seconds from now. Using the session does not extend it.' }),
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
  handle: ({ session }, { db, clock }: { db: Database; clock: Clock }) =>
    sessionAnswer(db, session, Math.floor((session.expiresAt.getTime() - clock.now()) / 1_000)),
})

/** @param expiresIn seconds. */
export async function sessionAnswer(
  db: Queryable,
  { userId, name, email }: User,
  expiresIn: number,
): Promise<z.infer<typeof Session>> {
  return { expiresIn, user: { userId, name, email }, companies: await listMemberships(db, userId) }
}
