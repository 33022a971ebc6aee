import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { ConfigError } from '#shared/process/config.ts'
import { checkDatabaseUrl, createPostgres, type Database, READ_ONLY } from '#shared/stores/postgres.ts'
import { isUnavailable, sqlState } from '../../apps/api/stores/postgres-errors.ts'
import { queryPrepared } from '../../apps/api/stores/prepared-query.ts'
import { migrate } from '../../infra/database/migrate.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { sharedDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTcpReceiver } from '../support/receivers.ts'
import { through } from '../support/revocation.ts'
import { createEmptyDatabase } from '../support/servers.ts'
import { connectedDatabase, fromBeside } from '../support/stores.ts'

const readPid = async (db: Database): Promise<number> =>
  (await db.raw('select pg_backend_pid() as pid')).rows[0].pid

describe('a query of which it cannot be told whether it would have worked', () => {
  const database = sharedDatabase()

  async function assertUnavailable(
    url: string,
    query: (db: Database) => Promise<unknown> = async (db) => db.raw('select 1'),
    options = {},
  ): Promise<void> {
    const db = createPostgres({ url, poolSize: 1, applicationName: 'test', ...options })
    await using _ = afterwards(() => db.destroy())
    await assert.rejects(query(db), isUnavailable)
  }

  for (const [what, then] of [
    ['never answers', () => {}],
    ['closes the connection', (socket: Socket) => socket.end()],
  ] as const)
    it(`reports as unavailable a server that ${what}`, async () => {
      await using server = await startTcpReceiver(then)
      await assertUnavailable(`postgres://u:p@127.0.0.1:${server.port}/db`)
    })

  it('reports as unavailable a server that is not there', () =>
    assertUnavailable('postgres://u:p@127.0.0.1:1/db'))

  const takeLong = async (db: Database) => db.raw('select pg_sleep(5)')
  it('reports as unavailable a query that takes too long', () =>
    assertUnavailable(database.apiUrl, takeLong, { statementTimeout_ms: 100 }))

  it('reports as unavailable a connection cut during a query', async () => {
    await using server = await startTcpReceiver((socket) => {
      const far = connect(Number(new URL(database.apiUrl).port), '127.0.0.1').on('error', () => {})
      socket.pipe(far).pipe(socket)
      setTimeout(() => socket.end(), 500)
    })
    await assertUnavailable(through(database.apiUrl, server), async (db) => {
      await takeLong(db).catch((error: Error) => {
        assert.match(error.message, /Connection terminated unexpectedly/)
        throw error
      })
    })
  })

  it('reports as unavailable a server that stops in the middle, and takes another connection next', async () => {
    await using db = connectedDatabase(database.apiUrl, { poolSize: 2, statementTimeout_ms: 200 })
    const silent = await readPid(db)
    process.kill(silent, 'SIGSTOP')
    await using _ = afterwards(() => process.kill(silent, 'SIGCONT'))
    await assert.rejects(readPid(db), isUnavailable)
    assert.notEqual(await readPid(db), silent)
  })

  it('reports as unavailable a transaction whose server stops, and does not wait for the roll-back', async () => {
    await using db = connectedDatabase(database.apiUrl, { statementTimeout_ms: 1_000 })
    let silent = 0
    const failed: string[] = []
    db.on('query-error', (_error, { sql }) => failed.push(sql))
    await using _ = afterwards(() => process.kill(silent, 'SIGCONT'))
    const stopping = db.transaction(async (transaction) => {
      silent = await readPid(transaction)
      process.kill(silent, 'SIGSTOP')
      await transaction.raw('select 1')
    })
    await assert.rejects(stopping, isUnavailable)
    // One that was waited for in vain would not have failed yet.
    assert.deepEqual(failed, ['select 1', 'ROLLBACK'])
    assert.notEqual(await readPid(db), silent)
  })

  it('reports as unavailable a pool with no free connection', () =>
    assertUnavailable(database.apiUrl, (db) => db.transaction(() => db.raw('select 1'))))
})

/** The names of the parameters with which a client begins (StartupMessage). */
const parseParameters = (startup: Buffer): string[] => {
  const fields = startup.subarray(8).toString().split('\0')
  return fields.filter((_, index) => index % 2 === 0)
}

/** What PgBouncer takes of a client unless it is told to ignore more. */
const KNOWN_TO_POOLERS = /^(|user|database|client_encoding|application_name|datestyle|timezone)$/i

const errorResponse = (message: string): Buffer => {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`)
  const head = Buffer.from([0x45, 0, 0, 0, 0])
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

const READ_LIMITS = `select current_setting('statement_timeout') as statement,
  current_setting('idle_in_transaction_session_timeout') as idle`

describe('a connection to Postgres', () => {
  const database = sharedDatabase()

  async function connected<T>(work: (db: Database) => Promise<T>): Promise<T> {
    await using db = connectedDatabase(database.ownerUrl, { statementTimeout_ms: 500 })
    return await work(db)
  }

  it('limits the statements and idle transactions of a connection', () =>
    connected(async (db) => {
      const { rows } = await db.raw(READ_LIMITS)
      assert.deepEqual(rows, [{ statement: '500ms', idle: '10s' }])
      const connection = await db.client.acquireConnection()
      db.client.releaseConnection(connection)
      // A second more than for a statement.
      assert.equal(connection.connection.stream.timeout, 1_500)
    }))

  it('waits two seconds for a connection', async () => {
    const { client } = createPostgres({ url: database.apiUrl, poolSize: 1, applicationName: 'test' })
    const { connectionTimeoutMillis } = client.config.connection
    assert.deepEqual([connectionTimeoutMillis, client.pool.acquireTimeoutMillis], [2_000, 2_000])
  })

  it('rejects a bigint that JavaScript would round', () =>
    connected(async (db) => {
      assert.deepEqual((await db.raw('select 9007199254740991::bigint as n')).rows, [{ n: 9007199254740991 }])
      await assert.rejects(db.raw('select 9007199254740993::bigint as n'), RangeError)
    }))

  it('keeps an idle connection for longer than an answer may take', () =>
    connected(async (db) => {
      const before = await readPid(db)
      await sleep(1_700)
      assert.equal(await readPid(db), before)
    }))
})

describe('a connection that takes no writes', () => {
  const database = sharedDatabase()
  const DELETE = 'delete from restore_fences where false'
  const refused = (error: unknown) => sqlState(error) === READ_ONLY
  const letWrite = (isAllowed: boolean) =>
    fromBeside(
      database.ownerUrl,
      `alter database ${new URL(database.ownerUrl).pathname.slice(1)}
       set default_transaction_read_only = ${isAllowed ? 'off' : 'on'}`,
    )

  it('is replaced after it has refused a statement, a prepared one or a transaction', async () => {
    const ways = [
      (db: Database) => db.raw(DELETE),
      (db: Database) => queryPrepared(db, { name: 'delete', text: DELETE, values: [] }),
      (db: Database) => db.transaction((transaction) => transaction.raw(DELETE)),
    ]
    const isReplaced = async (write: (typeof ways)[number]) => {
      await using db = connectedDatabase(database.ownerUrl)
      const before = await readPid(db)
      await db.raw('set default_transaction_read_only = on')
      await assert.rejects(write(db), refused)
      await eventually(async () => (await readPid(db)) !== before, { limit_ms: 5_000 })
      await write(db)
    }
    await Promise.all(ways.map(isReplaced))
  })

  it('is replaced though it only reads, and no more often than every two seconds', async () => {
    await letWrite(false)
    await using _ = afterwards(() => letWrite(true))
    await using db = connectedDatabase(database.ownerUrl)
    const from_ms = performance.now()
    const pids = new Set<number>()
    await eventually(async () => pids.add(await readPid(db)).size === 2, { limit_ms: 5_000 })
    while (performance.now() < from_ms + 3_000) {
      await assert.rejects(db.raw(DELETE), refused)
      pids.add(await readPid(db))
    }
    assert.ok(pids.size <= 1 + (performance.now() - from_ms) / 2_000, `${pids.size} connections`)
  })
})

describe('the failure of a query', () => {
  const ofState = (code: string) => Object.assign(new pg.DatabaseError('x', 1, 'error'), { code })
  const ofNetwork = (code: string) => Object.assign(new Error('x'), { code })

  for (const state of [
    ...['08006', '28P01', '3D000', '53300', '57P01', '57014', '58030'],
    ...['25006', '40001', '40P01', '55P03', '55000'],
  ])
    it(`says that the server is unavailable if its SQLSTATE is ${state}`, () =>
      assert.equal(isUnavailable(ofState(state)), true))

  for (const state of ['0A000', '22P02', '23505', '25P02', '42501', '42703', '55006', 'XX000'])
    it(`says that the query is wrong if its SQLSTATE is ${state}`, () =>
      assert.equal(isUnavailable(ofState(state)), false))

  for (const message of [
    'Connection terminated unexpectedly',
    'timeout expired',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'Knex: Timeout acquiring a connection. The pool is probably full.',
    'aborted',
  ])
    it(`says that the server is unavailable if pg or knex says "${message}"`, () => {
      assert.equal(isUnavailable(new Error(message)), true)
      assert.equal(isUnavailable(new Error(`select 1 - ${message}`)), true)
      assert.equal(isUnavailable(new Error(`the column "${message}" does not exist`)), false)
    })

  it('says that the server is unavailable if one of its addresses is', () => {
    for (const code of [
      ...['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'EPIPE'],
      ...['EAI_AGAIN', 'ENOTFOUND'],
    ])
      assert.equal(isUnavailable(new AggregateError([new Error('x'), ofNetwork(code)])), true, code)
    assert.equal(isUnavailable(new AggregateError([new Error('x'), ofNetwork('EACCES')])), false)
    assert.equal(isUnavailable({ code: 'ECONNREFUSED' }), false)
  })
})

describe('a database URL that leads to a pooler', () => {
  const database = sharedDatabase()
  /** Whether the pooler refuses what it does not know, as PgBouncer does by default. */
  let strict: boolean
  // Like a pooler, it gives its clients process ids of its own (BackendKeyData).
  const pooler = forBlock(() =>
    startTcpReceiver((near) => {
      near.once('data', (startup) => {
        const unknown = parseParameters(startup).find((name) => !KNOWN_TO_POOLERS.test(name))
        if (strict && unknown) near.end(errorResponse(`unsupported startup parameter: ${unknown}`))
      })
      const far = connect(Number(new URL(database.apiUrl).port), '127.0.0.1').on('error', () => {})
      near.on('data', (chunk) => far.write(chunk)).on('close', () => far.destroy())
      far.on('data', (chunk) => {
        const at = chunk.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
        if (at >= 0) chunk.writeInt32BE(chunk.readInt32BE(at + 5) + 1, at + 5)
        near.write(chunk)
      })
    }),
  )

  const url = () => through(database.apiUrl, pooler)
  async function using<T>(to: string, act: (db: Database) => Promise<T>, pooled = false): Promise<T> {
    await using db = connectedDatabase(to, { pooled })
    return await act(db)
  }
  const prepared = async (db: Database) => {
    await queryPrepared(db, { name: 'one', text: 'select $1::text', values: ['x'] })
    const { rows } = await db.raw('select name from pg_prepared_statements')
    return rows.map(({ name }: { name: string }) => name)
  }

  const check = (db: Database) => checkDatabaseUrl(db, 'integration_api')

  beforeEach(() => {
    strict = true
  })

  for (const refuses of [true, false])
    it(`refuses a pooler that ${refuses ? 'refuses' : 'ignores'} limits, and says what to do`, async () => {
      strict = refuses
      const message = /leads to a pooler, such as PgBouncer; set DATABASE_POOLER=transaction/
      await assert.rejects(using(url(), check), { constructor: ConfigError, message })
      await using(database.apiUrl, check)
    })

  it('refuses a superuser, whatever its name', async () => {
    const refused = { message: /^DATABASE_URL: logs in as postgres, a superuser; / }
    for (const name of ['integration_api', 'postgres'])
      await assert.rejects(
        using(database.ownerUrl, (db) => checkDatabaseUrl(db, name)),
        refused,
      )
  })

  it('accepts an announced pooler, and leaves nothing on its connections', async () => {
    await using(url(), check, true)
    assert.deepEqual(await using(url(), prepared, true), [])
    assert.deepEqual(await using(database.apiUrl, prepared), ['one'])
  })

  it('leaves the limits to the role behind a pooler, as the migration set them', async () => {
    const limits = async (db: Database) => (await db.raw(READ_LIMITS)).rows
    await using empty = await createEmptyDatabase()
    const { ownerUrl } = empty
    await migrate({ ownerUrl, passwords: { integration_api: new URL(database.apiUrl).password } })
    const own = new URL(database.apiUrl)
    own.pathname = new URL(ownerUrl).pathname
    assert.deepEqual(await using(own.href, limits, true), [{ statement: '5s', idle: '10s' }])
  })
})
