import type { Queryable } from '#shared/stores/postgres.ts'

/** The newest migration that this code needs: the number that its file's name begins with. */
export const SCHEMA_NEEDED = 11

/**
 * The oldest `SCHEMA_NEEDED` of a release that still runs on this schema. A migration that removes what an
 * older release uses (the contracting half of a change) raises it to the number that release lacks.
 */
export const SCHEMA_SERVES_FROM = 7

/** Kept as the comment of a table, which every role may read and every dump includes. */
const MARK = /^integration schema (\d{1,9}), serves (\d{1,9})$/

/** Records which schema the database has. For the migration, as the owner of the tables. */
export async function markSchema(db: Queryable, newest: number, serves = SCHEMA_SERVES_FROM): Promise<void> {
  await db.raw(`comment on table companies is 'integration schema ${newest}, serves ${serves}'`)
}

/** Returns the number of the newest migration that a whole run has ended with; undefined if none has. */
export async function readSchema(db: Queryable): Promise<{ newest: number; serves: number } | undefined> {
  const { rows } = await db.raw(`select obj_description(to_regclass('companies'), 'pg_class') as mark`)
  const [, newest, serves] = MARK.exec(rows[0]?.mark ?? '') ?? []
  return newest === undefined ? undefined : { newest: Number(newest), serves: Number(serves) }
}
