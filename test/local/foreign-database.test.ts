import assert from 'node:assert/strict'
import { insertCompany } from '#shared/people.ts'
import { createPostgres } from '#shared/stores/postgres.ts'
import { migrate } from '../../infra/migrate.ts'
import { createEmptyDatabase, createTestDatabase } from '../support/servers.ts'
import { removeFolder, startProcess, temporaryFolder } from '../support/start.ts'

const INITECH = { vendorId: 'ven_initech', name: 'Initech', timezone: 'UTC', currency: 'USD' }

describe('npm start', function () {
  this.timeout(60_000)
  let dataDir: string
  beforeEach(async () => {
    dataDir = await temporaryFolder()
  })
  afterEach(() => removeFolder(dataDir))

  it('puts no demo users into a database that others work with, and leaves its roles alone', async () => {
    const database = await createTestDatabase()
    const db = createPostgres({ url: database.ownerUrl, poolSize: 1, applicationName: 'test' })
    await insertCompany(db, INITECH)
    const start = await startProcess({ dataDir, env: { DATABASE_URL: database.ownerUrl } })
    assert.equal(await start.ended(), 1)
    assert.match(
      start.stderr(),
      /^\s*The database of DATABASE_URL already has companies, none of them from the demo\. /,
    )
    const { rows } = await db.raw('select count(*) as people from users')
    assert.equal(rows[0].people, 0)
    await db.destroy()
    // The role's password is the one of before.
    const api = createPostgres({ url: database.apiUrl, poolSize: 1, applicationName: 'test' })
    await api.raw('select 1')
    await api.destroy()
    await database.drop()
  })

  it('says that a newer version made the data', async () => {
    const database = await createEmptyDatabase()
    await migrate({ ownerUrl: database.ownerUrl })
    const db = createPostgres({ url: database.ownerUrl, poolSize: 1, applicationName: 'test' })
    await db.raw(
      `insert into knex_migrations (name, batch, migration_time) values ('9000_of_the_future.ts', 9, now())`,
    )
    await db.destroy()
    await assert.rejects(migrate({ ownerUrl: database.ownerUrl }), {
      message:
        'These data were made by a newer version (migration 9000_of_the_future.ts): run that version, or restore a backup of this one.',
    })
    await database.drop()
  })

  it('refuses to be production', async () => {
    const start = await startProcess({ dataDir, env: { NODE_ENV: 'production' } })
    assert.equal(await start.ended(), 78)
    assert.match(start.stderr(), /^\s*NODE_ENV is production, but npm start runs a demo/)
  })
})
