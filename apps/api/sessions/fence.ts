import { FENCED } from '#shared/revocation/fence.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { type Problem, unavailable } from '../problems/problems.ts'

export const databaseUnconfirmed = (): Problem =>
  unavailable('The database was restored or replaced, and awaits confirmation.')

/** @throws Problem unavailable while the database may have lost suspensions and new passwords. */
export async function requireUnfencedDatabase(db: Queryable): Promise<void> {
  const { rows } = await db.raw(`select ${FENCED} as fenced`)
  if (rows[0].fenced) throw databaseUnconfirmed()
}
