import { FENCE_IS_UP, HAS_MOVED } from '#shared/revocation/fence.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { readSchema, SCHEMA_NEEDED } from '../stores/database-checks.ts'

/**
 * `missing`: not migrated far enough. `newer`: migrated by a release too new for this one. `fenced`: an
 * operator has to confirm it. `moved`: not where it was confirmed; a round follows it or raises a fence.
 */
export type SchemaState = 'usable' | 'missing' | 'newer' | 'fenced' | 'moved'

/** Returns whether this code can work on the database, and write there. Rejects as the database does. */
export async function readDatabaseState(
  db: Queryable,
): Promise<{ schema: SchemaState; isReadOnly: boolean }> {
  const schema = await readSchema(db)
  if (schema === undefined || schema.newest < SCHEMA_NEEDED) return { schema: 'missing', isReadOnly: false }
  if (schema.serves > SCHEMA_NEEDED) return { schema: 'newer', isReadOnly: false }
  const { rows } = await db.raw(
    `select case when ${FENCE_IS_UP} then 'fenced' when ${HAS_MOVED} then 'moved' else 'usable' end as schema,
       current_setting('transaction_read_only')::boolean as "isReadOnly"`,
  )
  return rows[0]
}
