import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { migrate } from '../../infra/database/migrate.ts'
import { withoutBeats } from '../support/beats.ts'
import { forEachTest } from '../support/block.ts'
import { sharedFolder } from '../support/folder.ts'
import { createEmptyDatabase, createTestDatabase } from '../support/servers.ts'
import { connectedDatabase } from '../support/stores.ts'

const ROOT = join(import.meta.dirname, '../..')

const run = (env: Record<string, string>) =>
  spawnSync(process.execPath, ['infra/admin/migrate-command.ts'], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })

describe('npm run migrate', () => {
  const database = forEachTest(createEmptyDatabase)

  it('runs each migration once', () => {
    const first = run({ DATABASE_URL: database.ownerUrl })
    assert.equal(first.status, 0, first.stderr)
    assert.match(
      first.stdout,
      /^Ran 0001_people\.sql\.\nRan 0002_clients\.sql\.\n(.+\n)+The database is up to date\.\n$/,
    )
    assert.equal(run({ DATABASE_URL: database.ownerUrl }).stdout, 'The database is up to date.\n')
  })

  it('lets the services’ roles connect, and make neither temporary tables nor large objects', async () => {
    await migrate({ ownerUrl: database.ownerUrl })
    await using db = connectedDatabase(database.ownerUrl)
    const { rows } = await db.raw(`
      select rolname as role, right_ from pg_roles, unnest(array['connect', 'temporary', 'create']) as right_
      where rolname like 'integration%' and has_database_privilege(rolname, current_database(), right_)
      union all
      select rolname, proname from pg_roles, pg_proc
      where rolname like 'integration%' and has_function_privilege(rolname, pg_proc.oid, 'execute')
        and proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_import')
      order by role`)
    assert.deepEqual(rows, [
      { role: 'integration_api', right_: 'connect' },
      { role: 'integration_auth', right_: 'connect' },
      { role: 'integration_operator', right_: 'connect' },
    ])
  })

  it('says what DISTRIBUTE=citus needs where it is missing, with the tables in place', async () => {
    const { status, stderr } = run({ DATABASE_URL: database.ownerUrl, DISTRIBUTE: 'citus' })
    assert.match(
      stderr,
      /^DISTRIBUTE=citus needs the extension citus in this database, and a worker\. As a superuser, run "cr/m,
    )
    assert.equal(status, 1)
    assert.equal(run({ DATABASE_URL: database.ownerUrl }).stdout, 'The database is up to date.\n')
  })

  it('migrates once when several run at the same time', async () => {
    const { ownerUrl } = database
    const ran = (await Promise.all([1, 2, 3].map(() => migrate({ ownerUrl })))).map((names) => names.length)
    assert.deepEqual(ran.filter((n) => n > 0).length, 1)
  })

  it('says that the database does not answer, without its password', () => {
    const { status, stderr } = run({ DATABASE_URL: 'postgres://owner:hunter2@127.0.0.1:1/x' })
    assert.equal(status, 1)
    assert.match(withoutBeats(stderr), /^The migration failed: /)
    assert.doesNotMatch(stderr, /hunter2|\n\s+at /)
  })

  it('names a variable that is wrong', () => {
    const { status, stderr } = run({ DATABASE_URL: 'mysql://x' })
    assert.equal(status, 78)
    assert.match(stderr, /DATABASE_URL: must be a URL/)
  })
})

describe('npm run migrate on a migrated database', () => {
  const directory = sharedFolder()
  const database = forEachTest(createTestDatabase)

  it('continues where a run was killed', async () => {
    await using db = connectedDatabase(database.ownerUrl)
    await db('knex_migrations_lock').update({ is_locked: 1 })
    assert.deepEqual(await migrate(database), [])
  })

  it('waits for a transaction that uses a table, and meanwhile blocks no one', async () => {
    const { ownerUrl } = database
    await cp(join(ROOT, 'infra/database/migrations'), directory, { recursive: true })
    await writeFile(join(directory, '9001_free.sql'), 'create table free ()')
    await writeFile(join(directory, '9002_locked.sql'), 'alter table revoked_tokens add column later text')
    await using db = connectedDatabase(ownerUrl, { poolSize: 2 })
    const reader = await db.transaction()
    await reader.raw('select from revoked_tokens')
    const { promise: waiting, resolve } = Promise.withResolvers<void>()
    const ran = migrate({ ownerUrl, directory, onBlocked: resolve })
    await waiting
    await db.raw('select from revoked_tokens')
    // The migration before has ended with its own transaction, and holds no lock.
    const { rows } = await db.raw(`select to_regclass('free') is not null as committed`)
    await reader.rollback()
    assert.deepEqual(await ran, ['9001_free.sql', '9002_locked.sql'])
    assert.deepEqual(rows, [{ committed: true }])
  })

  it('says why a migration failed and where, without its statements, and undoes it', async () => {
    const { ownerUrl } = database
    await cp(join(ROOT, 'infra/database/migrations'), directory, { recursive: true })
    const broken =
      '-- "é" is one character and two bytes\ncreate table half ();\n\nselect nothing - - 1 from half;\n'
    await writeFile(join(directory, '9003_broken.sql'), broken)
    const ran: string[] = []
    await assert.rejects(migrate({ ownerUrl, directory, onCommit: (name) => ran.push(name) }), {
      message: '9003_broken.sql, line 4: column "nothing" does not exist',
    })
    await rm(join(directory, '9003_broken.sql'))
    await using db = connectedDatabase(ownerUrl)
    const { rows } = await db.raw(`select to_regclass('half') as half`)
    assert.deepEqual([rows, ran.filter((name) => name.startsWith('9003'))], [[{ half: null }], []])
  })

  it('leaves the data of a newer version alone', async () => {
    const { ownerUrl } = database
    await using db = connectedDatabase(ownerUrl)
    await db('knex_migrations').insert({
      name: '9000_of_the_future.sql',
      batch: 9,
      migration_time: new Date(),
    })
    await assert.rejects(migrate({ ownerUrl }), {
      message:
        'This database was migrated by a newer version (migration 9000_of_the_future.sql): run that version, or restore a backup of this one.',
    })
  })

  for (const [made, change] of [
    ['by migrations of other names', `update knex_migrations set name = replace(name, '.sql', '.ts')`],
    ['by migrations of other contents', `comment on table knex_migrations is 'another digest'`],
  ] as const) {
    it(`refuses a database from before the first release, made ${made}, and changes nothing in it`, async () => {
      const { ownerUrl } = database
      await using db = connectedDatabase(ownerUrl)
      await db.raw(change)
      const before = await db('knex_migrations').orderBy('id')
      const { status, stderr } = run({ DATABASE_URL: ownerUrl })
      assert.equal(status, 1)
      assert.equal(
        withoutBeats(stderr),
        'This database was made before the first release, and cannot be upgraded: drop it and create an empty one (for npm start, delete the folder .data, or what DATA_DIR names).\n',
      )
      assert.deepEqual(await db('knex_migrations').orderBy('id'), before)
    })
  }
})
