import assert from 'node:assert/strict'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { mock } from 'node:test'
import { IDLE_IN_TRANSACTION_MAX_MS, STATEMENT_MAX_MS } from '#shared/stores/postgres.ts'
import { migrate } from '../../infra/database/migrate.ts'
import { withoutBeats } from '../support/beats.ts'
import { afterwards, forEachTest } from '../support/block.ts'
import { stoppedTime } from '../support/clock.ts'
import { writeFiles } from '../support/files.ts'
import { sharedFolder } from '../support/folder.ts'
import { run as program } from '../support/program.ts'
import { ROOT } from '../support/project.ts'
import { createEmptyDatabase, createTestDatabase, PASSWORDS } from '../support/servers.ts'
import { connectedDatabase, untilBlocked } from '../support/stores.ts'

// While it waits, the tests read what their Postgres prints.
const run = (env: Record<string, string>, after = '') => {
  const options = { cwd: ROOT, env: { ...process.env, ...env } }
  return program('sh', ['-c', `"${process.execPath}" infra/admin/migrate-command.ts ${after}`], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

const LOST = 'The output was lost, but not what the command did: ENOSPC: no space left on device, write.\n'

describe('npm run migrate', () => {
  const database = forEachTest(createEmptyDatabase)

  it('runs each migration once', async () => {
    const { code, stderr, stdout } = await run({ DATABASE_URL: database.ownerUrl })
    assert.equal(code, 0, stderr)
    const names = /^Ran 0001_people\.sql\.\nRan 0002_clients\.sql\.\n(.+\n)+The database is up to date\.\n$/
    assert.match(stdout, names)
    assert.equal((await run({ DATABASE_URL: database.ownerUrl })).stdout, 'The database is up to date.\n')
  })

  for (const [what, after, expected] of [
    ['whose reader has gone', '| true', { code: 0, stdout: '', stderr: '' }],
    ['on a full disk', '> /dev/full', { code: 1, stdout: '', stderr: LOST }],
  ] as const)
    it(`goes on to the end when its output is ${what}`, async () => {
      const { stderr, ...result } = await run({ DATABASE_URL: database.ownerUrl }, after)
      assert.deepEqual({ ...result, stderr: withoutBeats(stderr) }, expected)
      assert.deepEqual(await migrate(database), [])
    })

  it('refuses an argument, and changes nothing', async () => {
    const stderr =
      'npm run migrate takes no arguments, only environment variables (infra/SETTINGS.md). Nothing was changed.\n'
    assert.deepEqual(await run({ DATABASE_URL: database.ownerUrl }, '--help'), {
      code: 64,
      stdout: '',
      stderr,
    })
    await using db = connectedDatabase(database.ownerUrl)
    const { rows } = await db.raw(`select to_regclass('users') as users`)
    assert.deepEqual(rows, [{ users: null }])
  })

  // All that it takes from the roles is in test/database/database-rights.test.ts.
  it('lets the services’ roles connect, and make no temporary tables, within limits', async () => {
    await migrate({ ...database, passwords: PASSWORDS })
    await using db = connectedDatabase(database.ownerUrl)
    const { rows } = await db.raw(`select right_ from unnest(array['connect', 'temporary']) as right_
      where has_database_privilege('integration_api', current_database(), right_)`)
    assert.deepEqual(rows, [{ right_: 'connect' }])
    const { rows: limits } = await db.raw(`select setrole::regrole::text as role, unnest(setconfig) as set
      from pg_db_role_setting join pg_database d on d.oid = setdatabase and datname = current_database()`)
    const expected = Object.keys(PASSWORDS).flatMap((role) => [
      { role, set: `statement_timeout=${STATEMENT_MAX_MS}` },
      { role, set: `idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_MAX_MS}` },
    ])
    assert.deepEqual(new Set(limits), new Set(expected))
  })

  it('says what DISTRIBUTE=citus needs where it is missing, with the tables in place', async () => {
    const { code, stderr } = await run({ DATABASE_URL: database.ownerUrl, DISTRIBUTE: 'citus' })
    assert.match(stderr, /^DISTRIBUTE=citus needs the extension citus in this database, and a worker\./m)
    assert.match(stderr, / As a superuser, run "create extension citus" on each node, /)
    assert.equal(code, 1)
    assert.deepEqual(await migrate(database), [])
  })

  it('migrates once when several run at the same time', async () => {
    const ran = await Promise.all([1, 2, 3].map(() => migrate(database)))
    assert.equal(ran.filter((names) => names.length > 0).length, 1)
  })

  it('migrates several databases of a server at once, which share their roles', async () => {
    const others = await Promise.all([1, 2, 3].map(createTestDatabase))
    await using _ = afterwards(() => Promise.all(others.map((other) => other.drop())))
    for (let round = 0; round < 5; round++)
      await Promise.all(others.map(({ ownerUrl }) => migrate({ ownerUrl, passwords: PASSWORDS })))
  })

  it('says that the database does not answer, without its password', async () => {
    const { code, stderr } = await run({ DATABASE_URL: 'postgres://owner:hunter2@127.0.0.1:1/x' })
    assert.equal(code, 1)
    assert.match(withoutBeats(stderr), /^The migration failed: /)
    assert.doesNotMatch(stderr, /hunter2|\n\s+at /)
  })

  it('names a variable that is wrong', async () => {
    const { code, stderr } = await run({ DATABASE_URL: 'mysql://x' })
    assert.equal(code, 78)
    assert.match(stderr, /DATABASE_URL: must be a URL/)
  })
})

describe('npm run migrate on a migrated database', () => {
  const directory = sharedFolder()
  const database = forEachTest(createTestDatabase)

  before(() => cp(join(ROOT, 'infra/database/migrations'), directory, { recursive: true }))
  /** Adds migrations to those of this release, until disposed. */
  async function adding(files: Record<string, string>) {
    await writeFiles(directory, files)
    return afterwards(() => Promise.all(Object.keys(files).map((name) => rm(join(directory, name)))))
  }

  it('continues where a run was killed', async () => {
    await using db = connectedDatabase(database.ownerUrl, { poolSize: 2 })
    await using _ = await adding({ '9001_next.sql': 'create table next ()' })
    await db('knex_migrations_lock').update({ is_locked: 1 })
    assert.deepEqual(await migrate({ ownerUrl: database.ownerUrl, directory }), ['9001_next.sql'])
    await writeFiles(directory, { '9001_next.sql': 'create table other ()' })
    await assert.rejects(migrate({ ownerUrl: database.ownerUrl, directory }), /before the first release/)
  })

  it('waits for a transaction that uses a table, and meanwhile blocks no one', async () => {
    await using db = connectedDatabase(database.ownerUrl, { poolSize: 2 })
    await using _ = await adding({
      '9001_free.sql': `create table free as select current_setting('lock_timeout') as blocks`,
      '9002_locked.sql': 'alter table revoked_tokens add column later text',
    })
    const reader = await db.transaction()
    await reader.raw('select from revoked_tokens')
    const { promise: waiting, resolve } = Promise.withResolvers<void>()
    const ran = migrate({ ownerUrl: database.ownerUrl, directory, onBlocked: resolve })
    await waiting
    await db.raw('select from revoked_tokens')
    // The migration before has ended with its own transaction, and holds no lock.
    const blocks = await db('free')
    await reader.rollback()
    assert.deepEqual(await ran, ['9001_free.sql', '9002_locked.sql'])
    assert.deepEqual(blocks, [{ blocks: '300ms' }])
  })

  it('gives up after ten minutes on a transaction that uses a table', async () => {
    await using db = connectedDatabase(database.ownerUrl)
    await using _ = await adding({ '9001_locked.sql': 'alter table revoked_tokens add column later text' })
    const reader = await db.transaction()
    await reader.raw('select from revoked_tokens')
    using time = stoppedTime()
    const onBlocked = mock.fn(() => void setTimeout(time.advance, 1_500, 600_001))
    const ran = migrate({ ownerUrl: database.ownerUrl, directory, onBlocked })
    await assert.rejects(ran, /for ten minutes/)
    await reader.rollback()
    assert.equal(onBlocked.mock.callCount(), 1)
  })

  it('gives up after ten minutes on another run', async () => {
    await using db = connectedDatabase(database.ownerUrl, { poolSize: 2 })
    const other = await db.transaction()
    await other.raw(`select pg_advisory_xact_lock(hashtextextended('integration migrations', 0))`)
    using time = stoppedTime()
    const ran = assert.rejects(migrate(database), /Another run of this command has not ended for ten min/)
    await untilBlocked(db)
    time.advance(600_001)
    await ran
    await other.rollback()
  })

  it('says why a migration failed and where, without its statements, and undoes it', async () => {
    await using db = connectedDatabase(database.ownerUrl, { poolSize: 2 })
    const broken =
      '-- "é" is one character and two bytes\ncreate table half ();\n\nselect nothing - - 1 from half;\n'
    await using _ = await adding({ '9001_broken.sql': broken })
    const ran: string[] = []
    const migrating = migrate({ ownerUrl: database.ownerUrl, directory, onCommit: (name) => ran.push(name) })
    await assert.rejects(migrating, { message: '9001_broken.sql, line 4: column "nothing" does not exist' })
    const { rows } = await db.raw(`select to_regclass('half') as half`)
    assert.deepEqual([rows, ran], [[{ half: null }], []])
  })

  it('leaves the data of a newer version alone', async () => {
    await using db = connectedDatabase(database.ownerUrl, { poolSize: 2 })
    const future = { name: '9000_of_the_future.sql', batch: 9, migration_time: new Date() }
    await db('knex_migrations').insert(future)
    await assert.rejects(migrate(database), {
      message:
        'This database was migrated by a newer version (migration 9000_of_the_future.sql): run that version, or restore a backup of this one.',
    })
  })

  for (const [made, change] of [
    ['by migrations of other names', `update knex_migrations set name = replace(name, '.sql', '.ts')`],
    ['by migrations of other contents', `comment on table knex_migrations is 'another digest'`],
  ] as const)
    it(`refuses a database from before the first release, made ${made}, and changes nothing in it`, async () => {
      await using db = connectedDatabase(database.ownerUrl, { poolSize: 2 })
      await db.raw(change)
      const before = await db('knex_migrations').orderBy('id')
      const { code, stderr } = await run({ DATABASE_URL: database.ownerUrl })
      assert.equal(code, 1)
      assert.equal(
        withoutBeats(stderr),
        'This database was made before the first release, and cannot be upgraded: drop it and create an empty one (for npm start, delete the folder .data, or what DATA_DIR names).\n',
      )
      assert.deepEqual(await db('knex_migrations').orderBy('id'), before)
    })
})
