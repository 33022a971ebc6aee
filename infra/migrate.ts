import knex from 'knex'

export interface MigrateOptions {
  /** A role that owns the database and may create roles. */
  ownerUrl: string
  /** Passwords of the two service roles; a role without one here stays as it is. */
  passwords?: { integration_auth: string; integration_api: string }
}

/**
 * Brings the database to the newest schema. Safe to run again and at the same time from several places.
 * @returns the names of the migrations that it ran.
 */
export async function migrate({ ownerUrl, passwords }: MigrateOptions): Promise<string[]> {
  const db = knex({ client: 'pg', connection: ownerUrl, pool: { min: 0, max: 2 } })
  try {
    const directory = new URL('./migrations', import.meta.url).pathname
    const [, names] = await db.migrate.latest({ directory, loadExtensions: ['.ts'] })
    for (const [role, password] of Object.entries(passwords ?? {})) await allowLogin(db, role, password)
    return names
  } finally {
    await db.destroy()
  }
}

async function allowLogin(db: knex.Knex, role: string, password: string): Promise<void> {
  const statement = await db.raw(
    `select format('alter role %I login password %L', ?::text, ?::text) as sql`,
    [role, password],
  )
  await db.raw(statement.rows[0].sql)
}
