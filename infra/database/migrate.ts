import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import knex from 'knex'
import type { ClientBase } from 'pg'
import { IDLE_IN_TRANSACTION_MAX_MS, STATEMENT_MAX_MS } from '#shared/stores/postgres.ts'
import { markSchema } from '../../apps/api/stores/database-checks.ts'
import { LOCK_NOT_AVAILABLE, sqlState } from '../../apps/api/stores/postgres-errors.ts'
import { omitStatements } from './error-messages.ts'

/**
 * A table change waits for all current users of the table, and all later ones wait for the change. So it
 * yields to a long transaction, such as a dump, and tries again.
 */
const LOCK_MAX_MS = 300
const TRY_AGAIN_MS = 1_000
const TRY_MAX_MS = 10 * 60_000
const END_LONG =
  'Long transactions were in the way for ten minutes. End them (see pg_stat_activity) and run this again.'
const END_OTHER = 'Another run of this command has not ended for ten minutes. Wait for it, then try again.'

/** Another version made the database, so this one cannot migrate it. `message` is a sentence for a person. */
export class OtherVersion extends Error {}

/** Others were in the way for ten minutes. `message` is a sentence for a person. */
export class BusyDatabase extends Error {}

/** The database is no coordinator of a Citus cluster with workers. `message` is a sentence for a person. */
export class NoCluster extends Error {}

interface MigrateOptions {
  /** A role that owns the database and may create roles. */
  ownerUrl: string
  /** Passwords of the roles below the owner. A role without one stays unchanged. */
  passwords?: { [Role in `integration_${'auth' | 'api' | 'operator'}`]?: string | undefined }
  /** Called when a migration has to wait for transactions that use a table. */
  onBlocked?: () => void
  /** Called with the name of each migration that begins, and of each that is committed. */
  onBegin?: (name: string) => void
  onCommit?: (name: string) => void
  /** Spreads the tables that grow with events over a cluster, unless that was done before. */
  distribute?: 'citus' | undefined
  /** Default: the migrations of this release. */
  directory?: string
}

/**
 * Migrates the database to the newest schema. Each migration is one transaction, so this is safe to repeat,
 * to run in several places at once, and to run after it was killed. Services may keep running: it delays them
 * by at most about 300 ms at a time, and each migration waits up to ten minutes for the lock on a table.
 * Returns the names of the migrations that it ran.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { ownerUrl, passwords, directory = join(import.meta.dirname, 'migrations') } = options
  const { onBlocked = () => {}, onBegin = () => {}, onCommit = () => {} } = options
  const db = knex({
    client: 'pg',
    connection: { connectionString: ownerUrl, options: `-c lock_timeout=${LOCK_MAX_MS}` },
    pool: { min: 0, max: 2 },
    // The error that ends a migration is thrown as well.
    log: { warn() {} },
  })
  omitStatements(db)
  try {
    return await holdLock(db, async (holder) => {
      await refuseOtherVersion(db, directory)
      const names = await runMissing(db, { directory, onBlocked, onBegin, onCommit })
      await revokePublicRights(db)
      if (options.distribute) await retryWhileBusy(() => distribute(db), onBlocked)
      const newest = await newestMigration(directory)
      await retryWhileBusy(() => markSchema(db, newest), onBlocked)
      for (const [role, password] of Object.entries(passwords ?? {}))
        if (password !== undefined) await allowLogin(holder, role, password)
      return names
    })
  } finally {
    await db.destroy()
  }
}

/** Runs the missing migrations, and yields to other users of a table that one changes. */
async function runMissing(
  db: knex.Knex,
  options: Required<Pick<MigrateOptions, 'directory' | 'onBlocked' | 'onBegin' | 'onCommit'>>,
): Promise<string[]> {
  const { directory, onBlocked, onBegin, onCommit } = options
  const migrations = { migrationSource: sqlFiles(directory) }
  const [, missing]: [unknown, string[]] = await db.migrate.list(migrations)
  // Not latest(), which runs all in one transaction and would hold the locks of the first until the end.
  for (const name of missing) {
    onBegin(name)
    await retryWhileBusy(() => db.migrate.up(migrations), onBlocked)
    onCommit(name)
  }
  return missing
}

/** A migration is a file of SQL. It is never undone: a later one corrects a mistake. */
const sqlFiles = (directory: string): knex.Knex.MigrationSource<string> => ({
  getMigrations: async () => (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort(),
  getMigrationName: (name) => name,
  async getMigration(name) {
    const sql = await readFile(join(directory, name), 'utf8')
    const digest = await digestThrough(directory, name)
    const up = async (db: knex.Knex) => {
      await db.raw(sql).catch((error) => {
        error.message = `${describePosition(error, name, sql)}: ${error.message}`
        throw error
      })
      await db.raw(`comment on table knex_migrations is '${digest}'`)
    }
    return { up, down: () => Promise.reject(new Error(`${name} cannot be undone`)) }
  },
})

/** Returns a digest of all migrations up to this one, which the database keeps with their names. */
async function digestThrough(directory: string, last: string): Promise<string> {
  const names = (await sqlFiles(directory).getMigrations([])).filter((name) => name <= last)
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')))
  return hash('sha256', names.map((name, i) => `${name}\n${texts[i]}`).join('\0'))
}

/** Returns the name of the file and, if Postgres says where the error is, the line. */
const describePosition = ({ position }: { position?: string }, name: string, sql: string): string =>
  position ? `${name}, line ${[...sql].slice(0, Number(position)).join('').split('\n').length}` : name

/** All databases of a server share its roles, and another's migration may alter one at the same moment. */
const isBusy = (error: unknown): boolean =>
  sqlState(error) === LOCK_NOT_AVAILABLE || /tuple concurrently updated/.test(String(error))

/** Calls `onBlocked` once if others are in the way. @throws BusyDatabase if they are for ten minutes. */
async function retryWhileBusy(run: () => Promise<unknown>, onBlocked = () => {}, advice = END_LONG) {
  const end = performance.now() + TRY_MAX_MS
  for (let notified = false; ; notified = true, await sleep(TRY_AGAIN_MS))
    try {
      await run()
      return
    } catch (error) {
      if (!isBusy(error)) throw error
      if (!notified) onBlocked()
      if (performance.now() > end) throw new BusyDatabase(advice)
    }
}

/** The number that the name of the last migration begins with. */
async function newestMigration(directory: string): Promise<number> {
  const numbers = (await readdir(directory)).map((name) => Number.parseInt(name, 10))
  return Math.max(...numbers.filter(Number.isInteger))
}

/**
 * @throws OtherVersion if the database has a migration that this version does not, or has in another form.
 */
async function refuseOtherVersion(db: knex.Knex, directory: string): Promise<void> {
  if (!(await db.schema.hasTable('knex_migrations'))) return
  const { rows } = await db.raw(
    `select name, obj_description('knex_migrations'::regclass, 'pg_class') as digest
     from knex_migrations order by name desc`,
  )
  const [newest] = rows
  if (!newest) return
  const names = await readdir(directory)
  const unknown = rows.find(({ name }: { name: string }) => !names.includes(name))
  if (unknown?.name.endsWith('.sql'))
    throw new OtherVersion(
      `This database was migrated by a newer version (migration ${unknown.name}): run that version, or ` +
        'restore a backup of this one.',
    )
  if (unknown || newest.digest !== (await digestThrough(directory, newest.name)))
    throw new OtherVersion(
      'This database was made before the first release, and cannot be upgraded: drop it and create an ' +
        'empty one (for npm start, delete the folder .data, or what DATA_DIR names).',
    )
}

/**
 * Holds a lock that ends with the connection. knex's own lock is a row, which makes a second run fail where
 * this lock waits, and which remains when a run is killed. It is therefore removed first, which this lock
 * makes safe.
 */
async function holdLock<T>(db: knex.Knex, work: (holder: ClientBase) => Promise<T>): Promise<T> {
  const holder = await db.client.acquireConnection()
  try {
    const lock = `select pg_advisory_lock(hashtextextended('integration migrations', 0))`
    await retryWhileBusy(() => db.raw(lock).connection(holder), undefined, END_OTHER)
    if (await db.schema.hasTable('knex_migrations_lock')) await db.migrate.forceFreeMigrationsLock()
    return await work(holder)
  } finally {
    await db
      .raw(`select pg_advisory_unlock(hashtextextended('integration migrations', 0))`)
      .connection(holder)
      .catch(() => {})
    await db.client.releaseConnection(holder)
  }
}

/**
 * Limits the roles to the tables granted to them, without what Postgres allows every role: temporary tables
 * and large objects. This is not a migration, since neither a dump nor a template carries these rights.
 */
export async function revokePublicRights(db: knex.Knex): Promise<void> {
  await db.raw(`
    do $$
    begin
      execute format('revoke all on database %I from public', current_database());
      execute format('grant connect on database %I to %s', current_database(),
        'integration_auth, integration_api, integration_operator');
    end $$;
    -- Where the owner of the database is no superuser, this changes nothing and is a warning.
    revoke execute on function lo_creat, lo_create, lo_from_bytea from public;
  `)
}

/** All tables or none are distributed. @throws NoCluster */
async function distribute(db: knex.Knex): Promise<void> {
  if (!(await hasWorkers(db)))
    throw new NoCluster(
      'DISTRIBUTE=citus needs the extension citus in this database, and a worker. As a superuser, run ' +
        '"create extension citus" on each node, and "select citus_add_node(…)" on this one for each worker.',
    )
  const sql = await readFile(join(import.meta.dirname, 'citus.sql'), 'utf8')
  await db.transaction((transaction) => transaction.raw(sql))
}

/** Without a worker, Citus would put every shard on this machine. */
async function hasWorkers(db: knex.Knex): Promise<boolean> {
  const { rows } = await db.raw(`select from pg_extension where extname = 'citus'`)
  if (rows.length === 0) return false
  const { rows: workers } = await db.raw('select from pg_dist_node where groupid > 0')
  return workers.length > 0
}

/** Without knex, which takes each `?` in a password for the place of a value. */
async function allowLogin(connection: ClientBase, role: string, password: string): Promise<void> {
  const statements = await connection.query(
    `select format('alter role %I login password %L', $1::text, $2::text) as sql
     union all
     select format('alter role %I in database %I set %I = %L', $1::text, current_database(), name, value)
     from (values
         ('statement_timeout', $3::text),
         ('idle_in_transaction_session_timeout', $4::text)
       ) as limits (name, value)`,
    // A service sets these limits itself, but cannot do so behind a pooler.
    [role, password, STATEMENT_MAX_MS, IDLE_IN_TRANSACTION_MAX_MS],
  )
  for (const { sql } of statements.rows) await retryWhileBusy(() => connection.query(sql))
}
