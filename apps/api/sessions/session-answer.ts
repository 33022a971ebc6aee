import type { z } from 'zod'
import type { Queryable } from '#shared/stores/postgres.ts'
import { listMemberships, type User } from '../accounts/people.ts'
import type { Session } from './schemas.ts'

/** @param expiresIn seconds. */
export async function sessionAnswer(
  db: Queryable,
  { userId, name, email }: User,
  expiresIn: number,
): Promise<z.infer<typeof Session>> {
  return { expiresIn, user: { userId, name, email }, companies: await listMemberships(db, userId) }
}
