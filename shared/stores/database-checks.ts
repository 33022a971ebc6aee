import { FENCED } from '#shared/revocation/records.ts'
import type { Queryable } from './postgres.ts'

/** The newest migration that this code needs: the number that its file's name begins with. */
export const SCHEMA_NEEDED = 14

/**
 * The oldest `SCHEMA_NEEDED` of a release that still runs on this schema. A migration that takes away what an older
 * release uses (the contracting half of a change) raises it to the number that release lacks.
 */
export const SCHEMA_SERVES_FROM = 12

/** Kept as the comment of a table, which every role may read and every dump includes. */
const MARK = /^integration schema (\d{1,9}), serves (\d{1,9})$/

/**
 * `missing`: not migrated far enough. `newer`: migrated by a release that this one is too old for. `fenced`: it may have
 * been restored to an earlier moment, and no operator has confirmed it.
 */
export type SchemaState = 'usable' | 'missing' | 'newer' | 'fenced'

/** Records which schema the database has. For the migration, as the owner of the tables. */
export async function markSchema(db: Queryable, newest: number, serves = SCHEMA_SERVES_FROM): Promise<void> {
  await db.raw(`comment on table companies is 'integration schema ${newest}, serves ${serves}'`)
}

/** Whether this code can work on the database. Rejects with what the database throws. */
export async function schemaState(db: Queryable): Promise<SchemaState> {
  const { rows } = await db.raw(`select obj_description(to_regclass('companies'), 'pg_class') as mark`)
  const [, newest, serves] = MARK.exec(rows[0]?.mark ?? '') ?? []
  if (newest === undefined || Number(newest) < SCHEMA_NEEDED) return 'missing'
  if (Number(serves) > SCHEMA_NEEDED) return 'newer'
  const { rows: found } = await db.raw(`select ${FENCED} as fenced`)
  return found[0].fenced ? 'fenced' : 'usable'
}
