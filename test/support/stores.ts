import type { Knex } from 'knex'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { eventually } from './eventually.ts'
import type { TestDatabase } from './servers.ts'

/** Many times what production allows, so that a busy machine fails no test that is not about these. */
export const PATIENT = {
  connectTimeout_ms: 60_000,
  statementTimeout_ms: 60_000,
  commandTimeout_ms: 10_000,
  turn_ms: 600_000,
  request_ms: 600_000,
  ownRequest_ms: 600_000,
  fetchKeys_ms: 60_000,
  revision_ms: 60_000,
  commit_ms: 60_000,
  askPostgres_ms: 60_000,
}

/** These without the named one, which is then production's. */
export function allButOne(name: keyof typeof PATIENT): Partial<typeof PATIENT> {
  const { [name]: _, ...others } = PATIENT
  return others
}

/** The same for a server's wait for a request, and, as in production, for the next one. */
export const PATIENT_SERVER = { headersTimeout: 60_000, requestTimeout: 60_000, keepAliveTimeout: 130_000 }

/** A connection to a database, which ends with the block that is `using` it. */
export function connectedDatabase(
  url: string,
  options: Partial<Parameters<typeof createPostgres>[0]> = {},
): Database & AsyncDisposable {
  const db = createPostgres({ url, poolSize: 1, applicationName: 'test', ...PATIENT, ...options })
  return Object.assign(db, { [Symbol.asyncDispose]: () => db.destroy() })
}

/** Runs statements about a database as its owner, from another database of its server. */
export async function fromBeside(ownerUrl: string, ...statements: string[]): Promise<void> {
  const url = new URL(ownerUrl)
  url.pathname = '/postgres'
  await using db = connectedDatabase(url.href)
  for (const sql of statements) await db.raw(sql)
}

/** A database that never answers, whatever it is asked. */
export const SILENT_DATABASE: never = new Proxy(() => {}, {
  get: (_target, name) => (name === 'then' ? () => {} : SILENT_DATABASE),
  apply: () => SILENT_DATABASE,
}) as never

/** Makes the database unusable, as if its server were gone, until the returned function is called. */
export async function cutOffDatabase({ ownerUrl }: TestDatabase): Promise<() => Promise<void>> {
  const name = new URL(ownerUrl).pathname.slice(1)
  await fromBeside(
    ownerUrl,
    `alter database ${name} allow_connections false`,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  )
  return () => fromBeside(ownerUrl, `alter database ${name} allow_connections true`)
}

const BLOCKED = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** Ends the sessions whose statements wait for a lock, and returns their number. */
export const endBlocked = (db: Knex) => sumOverNodes(db, `select count(pg_terminate_backend(pid)) ${BLOCKED}`)

async function sumOverNodes(db: Knex, count: string): Promise<number> {
  const { rows } = await db.raw(`select to_regproc('run_command_on_all_nodes') is not null as "isCluster"`)
  const { rows: counts } = await (rows[0].isCluster
    ? db.raw('select sum(result::integer) as count from run_command_on_all_nodes(?)', [count])
    : db.raw(count))
  return Number(counts[0].count)
}

/** Locks a table against every statement until the transaction that it returns ends. */
export async function lockTable(db: Knex, table: string): Promise<Knex.Transaction> {
  const lock = await db.transaction()
  await lock.raw('set local idle_in_transaction_session_timeout = 0')
  await lock.raw(`lock table ${table} in access exclusive mode`)
  return lock
}

/** Returns how many statements on this database are blocked by a lock. */
export const countBlocked = (db: Knex) => sumOverNodes(db, `select count(*) ${BLOCKED}`)

/** Waits until statements on this database are blocked by a lock, at whichever node of a cluster. */
export const untilBlocked = (db: Knex, count = 1): Promise<unknown> =>
  eventually(async () => (await countBlocked(db)) >= count)

/** Asks while a table is locked, and returns the answer, once the statements that waited have ended too. */
export async function askWhileLocked<T>(db: Knex, table: string, ask: () => Promise<T>): Promise<T> {
  const lock = await lockTable(db, table)
  const asked = ask()
  await untilBlocked(db)
  const answer = await asked.finally(() => lock.rollback())
  const open = `select count(*) from pg_stat_activity
    where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`
  await eventually(async () => (await sumOverNodes(db, open)) === 0)
  return answer
}

/** Reasons to believe that Postgres forgot revocations, with the statements that begin and end them. */
export const FENCES = [
  [
    'a fence stands',
    `insert into restore_fences (reason) values ('an operator')`,
    'update restore_fences set lowered_at = now() where lowered_at is null',
  ],
  [
    'the database is not the one that was confirmed',
    `update revocation_trust set place = 'another'`,
    'update revocation_trust set place = database_place()',
  ],
] as const

/** Starts a service as its process does, which tries again while the stores do not answer. */
export const untilStarted = (service: { start(): Promise<void> }): Promise<true> =>
  eventually(() =>
    service.start().then(
      () => true,
      (error: Error) => {
        if (!/Timeout|ECONN|timeout/.test(`${error.name} ${error.message}`)) throw error
        return false
      },
    ),
  )
