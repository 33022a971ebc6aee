import '#shared/process/environment.ts'
import type { Socket } from 'node:net'
import knex, { type Knex } from 'knex'
import pg from 'pg'
import { ConfigError } from '#shared/process/config.ts'

export type Database = Knex
/** A database or a transaction of it: what a query needs. */
export type Queryable = Knex | Knex.Transaction

/** Returns a statement's bindings. pg takes lists that knex's types lack: read-only, or with null. */
export const bindings = (values: readonly unknown[]) => values as Knex.RawBinding[]

const INT8 = 20
const DATE = 1082
const CONNECT_TIMEOUT_MS = 2_000
export const STATEMENT_MAX_MS = 5_000
export const IDLE_IN_TRANSACTION_MAX_MS = 10_000

/** What pg's types leave out of a client, and what is known of its server. */
type PoolConnection = pg.Client & {
  /** False while an answer is owed. */
  readyForQuery?: boolean
  connection: {
    stream: Socket
    on(event: 'errorMessage', listener: (error: { code?: string }) => void): void
  }
  openedAt_ms: number
  isReadOnly: boolean
}

/** int8 as number (the schema keeps every sum below 2^53), date as `YYYY-MM-DD`, all else as pg does. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === DATE) return (text: string) => text
    if (oid !== INT8) return pg.types.getTypeParser(oid, format)
    return (text: string) => {
      const value = Number(text)
      if (!Number.isSafeInteger(value)) throw new RangeError('a bigint from the database is beyond 2^53')
      return value
    }
  },
}

/** The SQLSTATE of a write that a read-only session or a standby refuses. */
export const READ_ONLY = '25006'
/**
 * A connection that takes no writes is used this long, then replaced: a session keeps the
 * default_transaction_read_only that it began with, and one to a standby stays there when the primary's name
 * moves. Not at once, since while the database takes no writes, each query would connect anew.
 */
const READ_ONLY_MAX_MS = 2_000

/** How long a live server has to answer or refuse after a statement has run out of time. */
const ANSWER_MARGIN_MS = 1_000

/** How long a query waits for a connection, and how long a statement runs until the server cancels it. */
export type PostgresTimeouts = Record<'connectTimeout_ms' | 'statementTimeout_ms', number>

export interface PostgresParts extends Partial<PostgresTimeouts> {
  url: string
  poolSize: number
  /** Shown in pg_stat_activity. */
  applicationName: string
  /**
   * Whether a pooler in between gives each transaction another connection, such as PgBouncer. Then
   * nothing outlasts a transaction: statements are not prepared, and the role's own settings limit them.
   */
  pooled?: boolean
  /** Given each entry of the activity that is committed. */
  activityLog?: (entry: object) => void
}

/**
 * A pool of connections to the Postgres primary, made on first use. A query waits `connectTimeout_ms` (2 s)
 * at most for one. It rejects, in a transaction too, 1 s after `statementTimeout_ms` if its server is silent.
 */
export function createPostgres(parts: PostgresParts): Database {
  const { url, poolSize, applicationName, statementTimeout_ms = STATEMENT_MAX_MS, pooled = false } = parts
  const { connectTimeout_ms = CONNECT_TIMEOUT_MS } = parts
  return knex({
    client: 'pg',
    connection: {
      connectionString: url,
      application_name: applicationName,
      connectionTimeoutMillis: connectTimeout_ms,
      ...(!pooled && {
        statement_timeout: statementTimeout_ms,
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MAX_MS,
      }),
      keepAlive: true,
      types,
    } as Knex.PgConnectionConfig,
    // A failed query rejects; knex would print it as well, with a stack.
    log: { warn() {}, error() {}, deprecate() {}, debug() {} },
    pool: {
      min: 0,
      max: poolSize,
      acquireTimeoutMillis: connectTimeout_ms,
      // A connection that owes an answer and has brought nothing for this long is closed: its server has gone
      // silently, and knex would wait 5 s more for its ROLLBACK. Its queries reject.
      afterCreate: (connection: PoolConnection, created: (error: null) => void) => {
        const { stream } = connection.connection
        stream.setTimeout(statementTimeout_ms + ANSWER_MARGIN_MS)
        stream.on('timeout', () => connection.readyForQuery === false && stream.destroy())
        connection.connection.on('errorMessage', ({ code }) => {
          if (code === READ_ONLY) connection.isReadOnly = true
        })
        connection.query('show transaction_read_only', (_error, result) => {
          connection.openedAt_ms = performance.now()
          connection.isReadOnly = result?.rows[0].transaction_read_only === 'on'
          created(null)
        })
      },
      validate: ({ isReadOnly, openedAt_ms }: PoolConnection) =>
        !isReadOnly || performance.now() < openedAt_ms + READ_ONLY_MAX_MS,
    } as Knex.PoolConfig,
    userParams: { pooled, activityLog: parts.activityLog },
  } as Knex.Config)
}

const POOLER =
  'DATABASE_URL: leads to a pooler, such as PgBouncer; ' +
  'set DATABASE_POOLER=transaction, or connect to Postgres itself'

/**
 * With another role a service may do more than it should, and nothing would say so. Behind a pooler that it
 * does not know of, its prepared statements would fail now and then.
 * @param expectedRole the role that the migration made for the service.
 * @throws ConfigError if DATABASE_URL logs in as another role or a superuser, or leads to a pooler
 * unannounced; whatever the database throws.
 */
export async function checkDatabaseUrl(db: Database, expectedRole: string): Promise<void> {
  const connection = await db.client.acquireConnection().catch((error: Error) => {
    throw /unsupported startup parameter/.test(error.message) ? new ConfigError(POOLER) : error
  })
  try {
    const { rows } = await connection.query(
      `select rolname as role, rolsuper as "isSuperuser", pg_backend_pid() as pid
       from pg_roles where rolname = current_user`,
    )
    const [{ role, isSuperuser, pid }] = rows
    const mistake = isSuperuser ? `${role}, a superuser` : role
    if (mistake !== expectedRole)
      throw new ConfigError(`DATABASE_URL: logs in as ${mistake}; this service runs only as ${expectedRole}`)
    // A pooler invents a process id for each of its clients.
    if (!db.userParams.pooled && pid !== connection.processID) throw new ConfigError(POOLER)
  } finally {
    db.client.releaseConnection(connection)
  }
}
