import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import knex from 'knex'
import { markSchema, readSchema } from '#shared/stores/database-checks.ts'
import { IDLE_IN_TRANSACTION_MAX_MS, STATEMENT_MAX_MS } from '#shared/stores/postgres.ts'
import { LOCK_NOT_AVAILABLE, sqlState } from '#shared/stores/postgres-errors.ts'

/** The migration that made fences. */
const FENCES = 13
/**
 * A change of a table waits for everybody who uses it, and meanwhile everybody who comes later waits for the change:
 * so it gives way to a long transaction, such as a dump's, and tries again.
 */
const LOCK_MAX_MS = 300
const TRY_AGAIN_MS = 1_000
const TRY_MAX_MS = 10 * 60_000

/** The database has been migrated by a newer version. `message` is a sentence for a person. */
export class NewerDatabase extends Error {}

/** Other transactions kept a migration from changing a table for ten minutes. `message` is a sentence for a person. */
export class BusyDatabase extends Error {}

export interface MigrateOptions {
  /** A role that owns the database and may create roles. */
  ownerUrl: string
  /** Passwords of the two service roles; a role without one here stays as it is. */
  passwords?: { integration_auth?: string | undefined; integration_api?: string | undefined }
  /** Called when a migration has to wait for transactions that use a table. */
  waiting?: () => void
  /** Default: the migrations of this release. */
  directory?: string
  /**
   * Given: a database from before there were fences that has clients, but that no service is connected to, may be a
   * restored backup. It is fenced, and this is called with why. Left out: such a database counts as complete.
   */
  fenced?: (why: string) => void
}

/**
 * Brings the database to the newest schema. Safe to run again, at the same time from several places, and after a
 * run that was killed halfway: each migration is one transaction. Beside running services: it holds nobody up for
 * longer than about 300 ms at a time, and each migration waits for up to ten minutes until it may change a table.
 * @returns the names of the migrations that it ran.
 */
export async function migrate({
  ownerUrl,
  passwords,
  directory = join(import.meta.dirname, 'migrations'),
  waiting = () => {},
  fenced,
}: MigrateOptions): Promise<string[]> {
  const db = knex({
    client: 'pg',
    connection: { connectionString: ownerUrl, options: `-c lock_timeout=${LOCK_MAX_MS}` },
    pool: { min: 0, max: 2 },
    // What ends a migration is thrown as well.
    log: { warn() {} },
  })
  try {
    return await alone(db, async () => {
      await refuseNewerDatabase(db, await newestMigration(directory))
      const beforeFences = ((await readSchema(db))?.newest ?? 0) < FENCES
      const names = await runMissing(db, { directory, waiting })
      await closeDatabase(db)
      const why = fenced && beforeFences ? await fenceUnused(db) : undefined
      const newest = await newestMigration(directory)
      await givingWay(() => markSchema(db, newest), waiting)
      for (const [role, password] of Object.entries(passwords ?? {}))
        if (password !== undefined) await allowLogin(db, role, password)
      if (why !== undefined) fenced?.(why)
      return names
    })
  } finally {
    await db.destroy()
  }
}

/** Runs the migrations that are missing, and gives way to whoever uses a table that one changes. */
async function runMissing(
  db: knex.Knex,
  { directory, waiting }: { directory: string; waiting: () => void },
): Promise<string[]> {
  const source = { directory, loadExtensions: ['.ts'] }
  const [, missing] = await db.migrate.list(source)
  // Not latest(), which runs all of them in one transaction: a lock of the first would last until the end.
  for (const _ of missing) await givingWay(() => db.migrate.up(source), waiting)
  return missing.map(({ file }: { file: string }) => file)
}

/** @throws BusyDatabase when a lock could not be had in time. */
async function givingWay(change: () => Promise<unknown>, waiting: () => void): Promise<void> {
  const end = performance.now() + TRY_MAX_MS
  for (let told = false; ; told = true, await sleep(TRY_AGAIN_MS))
    try {
      await change()
      return
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
      if (!told) waiting()
      if (performance.now() > end)
        throw new BusyDatabase(
          'Long transactions kept a table from being changed for ten minutes: end them (see pg_stat_activity), and run this again.',
        )
    }
}

/** The number that the name of the last migration begins with. */
async function newestMigration(directory: string): Promise<number> {
  const numbers = (await readdir(directory)).map((name) => Number.parseInt(name, 10))
  return Math.max(...numbers.filter(Number.isInteger))
}

/** Leaves a schema alone that this code does not know yet. @throws Error that says so. */
async function refuseNewerDatabase(db: knex.Knex, known: number): Promise<void> {
  if (!(await db.schema.hasTable('knex_migrations'))) return
  const { rows } = await db.raw('select max(name) as newest from knex_migrations')
  if (Number.parseInt(rows[0].newest ?? '0', 10) > known)
    throw new NewerDatabase(
      `These data were made by a newer version (migration ${rows[0].newest}): run that version, or restore a backup of this one.`,
    )
}

/**
 * Raises a fence unless there is no client yet, or a service is connected.
 * @returns why one stands, also if a run raised it that was killed before it could say so; undefined if none does.
 */
async function fenceUnused(db: knex.Knex): Promise<string | undefined> {
  const why = 'a version without fences made these data, and no service was using them: they may be a backup'
  await db.raw(
    `insert into restore_fences (reason)
     select ? where exists (select from oauth_clients) and not exists (
       select from pg_stat_activity
       where datname = current_database() and usename in ('integration_auth', 'integration_api'))
     on conflict do nothing`,
    [why],
  )
  const { rows } = await db.raw('select reason from restore_fences where lowered_at is null')
  return rows[0]?.reason
}

/**
 * Holds a lock that ends with the connection. knex's own lock is a row: it refuses a second run where this one
 * waits, and stays when a run is killed; so it is taken away first, which the other lock makes safe.
 */
async function alone<T>(db: knex.Knex, work: () => Promise<T>): Promise<T> {
  const holder = await db.client.acquireConnection()
  try {
    await db.raw('set lock_timeout = 0').connection(holder)
    await db.raw(`select pg_advisory_lock(hashtext('integration migrations'))`).connection(holder)
    if (await db.schema.hasTable('knex_migrations_lock')) await db.migrate.forceFreeMigrationsLock()
    return await work()
  } finally {
    await db
      .raw(`select pg_advisory_unlock(hashtext('integration migrations'))`)
      .connection(holder)
      .catch(() => {})
    await db.client.releaseConnection(holder)
  }
}

/**
 * Leaves the two roles the tables that they were granted, and nothing of what Postgres lets every role do: neither
 * temporary tables nor large objects. It is no migration, since neither a dump nor a template carries these rights.
 */
export async function closeDatabase(db: knex.Knex): Promise<void> {
  await db.raw(`
    do $$
    begin
      execute format('revoke all on database %I from public', current_database());
      execute format('grant connect on database %I to integration_auth, integration_api', current_database());
    end $$;
    -- Where the owner of the database is no superuser, this changes nothing and is a warning.
    revoke execute on function lo_creat, lo_create, lo_from_bytea from public;
  `)
}

async function allowLogin(db: knex.Knex, role: string, password: string): Promise<void> {
  const statements = await db.raw(
    `select format('alter role %I login password %L', :role::text, :password::text) as sql
     union all
     select format('alter role %I in database %I set %I = %L', :role::text, current_database(), name, value)
     from (values ('statement_timeout', :statement::text), ('idle_in_transaction_session_timeout', :idle::text))
       as limits (name, value)`,
    // A service sets these limits itself, but cannot behind a pooler.
    { role, password, statement: String(STATEMENT_MAX_MS), idle: String(IDLE_IN_TRANSACTION_MAX_MS) },
  )
  for (const { sql } of statements.rows) await db.raw(sql)
}
