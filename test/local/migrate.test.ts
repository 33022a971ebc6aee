import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import knex, { type Knex } from 'knex'
import { FENCED } from '#shared/revocation/records.ts'
import { markSchema } from '#shared/stores/database-checks.ts'
import { migrate } from '../../infra/database/migrate.ts'
import { createClient } from '../support/auth.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../support/servers.ts'

const ROOT = join(import.meta.dirname, '../..')
const MIGRATIONS = { directory: join(ROOT, 'infra/database/migrations'), loadExtensions: ['.ts'] }

describe('npm run migrate', () => {
  let database: EmptyDatabase
  beforeEach(async () => {
    database = await createEmptyDatabase()
  })
  afterEach(() => database.drop())

  const run = (env: Record<string, string>) =>
    spawnSync(process.execPath, ['infra/admin/migrate-command.ts'], {
      cwd: ROOT,
      env: { ...process.env, ...env },
      encoding: 'utf8',
    })

  /** Undoes this migration, and before it those that came after. */
  async function backTo(db: Knex, name: string): Promise<void> {
    for (let undone = ''; !undone.endsWith(name); ) [, [undone]] = await db.migrate.down(MIGRATIONS)
  }

  it('runs each migration once', () => {
    const first = run({ DATABASE_URL: database.ownerUrl })
    assert.equal(first.status, 0, first.stderr)
    assert.match(first.stdout, /^Ran 0001_companies_and_people\.ts, 0002_oauth\.ts, /)
    assert.equal(run({ DATABASE_URL: database.ownerUrl }).stdout, 'The database is up to date.\n')
  })

  it('lets the services’ roles connect, and make neither temporary tables nor large objects', async () => {
    await migrate({ ownerUrl: database.ownerUrl })
    const db = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 1 } })
    const { rows } = await db.raw(`
      select rolname as role, right_ from pg_roles, unnest(array['connect', 'temporary', 'create']) as right_
      where rolname like 'integration%' and has_database_privilege(rolname, current_database(), right_)
      union all
      select rolname, proname from pg_roles, pg_proc
      where rolname like 'integration%' and has_function_privilege(rolname, pg_proc.oid, 'execute')
        and proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_import')
      order by role`)
    await db.destroy()
    assert.deepEqual(rows, [
      { role: 'integration_api', right_: 'connect' },
      { role: 'integration_auth', right_: 'connect' },
      { role: 'integration_operator', right_: 'connect' },
    ])
  })

  it('migrates once when several run at the same time', async () => {
    const { ownerUrl } = database
    const ran = (await Promise.all([1, 2, 3].map(() => migrate({ ownerUrl })))).map((names) => names.length)
    assert.deepEqual(ran.filter((n) => n > 0).length, 1)
  })

  it('continues where a run was killed', async () => {
    const { ownerUrl } = database
    await migrate({ ownerUrl })
    const db = knex({ client: 'pg', connection: ownerUrl, pool: { min: 0, max: 1 } })
    await db('knex_migrations_lock').update({ is_locked: 1 })
    await db.destroy()
    assert.deepEqual(await migrate({ ownerUrl }), [])
  })

  it('goes back to nothing and forward again, each migration by itself', async () => {
    const { ownerUrl } = database
    const names = await migrate({ ownerUrl })
    const db = knex({ client: 'pg', connection: ownerUrl, pool: { min: 0, max: 1 } })
    const made = async () => {
      const { rows } = await db.raw(
        `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relname not like 'knex%'
         union all select proname from pg_proc where pronamespace = 'public'::regnamespace
         union all select typname from pg_type where typnamespace = 'public'::regnamespace and typtype = 'e'
         order by name`,
      )
      return rows.map(({ name }: { name: string }) => name)
    }
    try {
      const before = await made()
      for (const name of names.toReversed()) {
        const [, undone] = await db.migrate.down(MIGRATIONS)
        assert.equal(undone.length, 1, name)
      }
      assert.deepEqual(await made(), [])
      assert.deepEqual(await migrate({ ownerUrl }), names)
      assert.deepEqual(await made(), before)
    } finally {
      await db.destroy()
    }
  })

  describe('on a database from before restore fences', () => {
    let owner: Knex
    beforeEach(async () => {
      await migrate({ ownerUrl: database.ownerUrl, passwords: { integration_api: 'api-role' } })
      owner = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 1 } })
      await createClient(owner, {})
      await backTo(owner, '0013_restore_fences.ts')
      await markSchema(owner, 12)
    })
    afterEach(() => owner.destroy())

    const fenced = async () => (await owner.raw(`select ${FENCED} as fenced`)).rows[0].fenced
    const env = () => ({ DATABASE_URL: database.ownerUrl })
    /** @returns why the run says that access is refused. */
    const runInProcess = async () => {
      const whys: string[] = []
      await migrate({ ownerUrl: database.ownerUrl, fenced: (why) => whys.push(why) })
      return whys
    }

    it('refuses all access if it has clients and no service uses it, as a restored backup', async () => {
      const { stdout } = run(env())
      assert.match(
        stdout,
        /^Ran 0013.*\nAll access is blocked until you run "npm run admin -- restore confirm": .*backup/s,
      )
      assert.equal(await fenced(), true)
      assert.deepEqual(await runInProcess(), [])
      assert.equal(await fenced(), true)
    })

    it('refuses all access after a run killed before it had said so', async () => {
      await migrate({ ownerUrl: database.ownerUrl })
      await markSchema(owner, 12)
      assert.equal((await runInProcess()).length, 1)
    })

    it('reports the fence after a run killed when it had raised it', async () => {
      assert.equal((await runInProcess()).length, 1)
      await markSchema(owner, 12)
      assert.match((await runInProcess()).join(), /^this database is from a version without fences/)
    })

    it('allows access if a service uses the database', async () => {
      const url = Object.assign(new URL(database.ownerUrl), {
        username: 'integration_api',
        password: 'api-role',
      })
      const service = knex({ client: 'pg', connection: url.href, pool: { min: 1, max: 1 } })
      await service.raw('select')
      assert.deepEqual(await runInProcess(), [])
      await service.destroy()
      assert.equal(await fenced(), false)
    })
  })

  it('waits for a transaction that uses a table, and meanwhile blocks no one', async () => {
    const { ownerUrl } = database
    await migrate({ ownerUrl })
    const db = knex({ client: 'pg', connection: ownerUrl, pool: { min: 0, max: 2 } })
    await backTo(db, '0014_openid_identities.ts')
    const reader = await db.transaction()
    await reader.raw('select from revoked_tokens')
    const { promise: waiting, resolve } = Promise.withResolvers<void>()
    const ran = migrate({ ownerUrl, waiting: resolve })
    await waiting
    await db.raw('select from revoked_tokens')
    // The migration before has ended with its own transaction, and holds no lock.
    const { rows } = await db.raw(`select to_regclass('openid_identities') is not null as committed`)
    await reader.rollback()
    assert.deepEqual((await ran).slice(0, 2), ['0014_openid_identities.ts', '0015_lost_tokens.ts'])
    await db.destroy()
    assert.deepEqual(rows, [{ committed: true }])
  })

  it('leaves the data of a newer version alone', async () => {
    const { ownerUrl } = database
    await migrate({ ownerUrl })
    const db = knex({ client: 'pg', connection: ownerUrl, pool: { min: 0, max: 1 } })
    await db('knex_migrations').insert({
      name: '9000_of_the_future.ts',
      batch: 9,
      migration_time: new Date(),
    })
    await db.destroy()
    await assert.rejects(migrate({ ownerUrl }), {
      message:
        'This database was migrated by a newer version (migration 9000_of_the_future.ts): run that version, or restore a backup of this one.',
    })
  })

  it('says that the database does not answer, without its password', () => {
    const { status, stderr } = run({ DATABASE_URL: 'postgres://owner:hunter2@127.0.0.1:1/x' })
    assert.equal(status, 1)
    assert.match(stderr, /^The migration failed: /)
    assert.doesNotMatch(stderr, /hunter2|\n\s+at /)
  })

  it('names a variable that is wrong', () => {
    const { status, stderr } = run({ DATABASE_URL: 'mysql://x' })
    assert.equal(status, 78)
    assert.match(stderr, /DATABASE_URL: must be a URL/)
  })
})
