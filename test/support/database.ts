import knex, { type Knex } from 'knex'
import { type Company, insertCompany } from '#shared/accounts/people.ts'
import { newVendorId } from '#shared/oauth/new-ids.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { createTestDatabase, type TestDatabase } from './servers.ts'

/** In pg_stat_activity, for the connections of services. */
export const APPLICATION = 'test'

export interface ConnectedDatabase extends TestDatabase {
  /** The superuser's connection: to arrange, and to look. */
  owner: Knex
  /** Connections with the rights of the services. */
  api: Database
  auth: Database
  createCompany(company?: Partial<Company>): Promise<string>
}

/** A database, connected, that all tests of a block use. */
export function sharedDatabase(): ConnectedDatabase {
  const database = {} as ConnectedDatabase
  before(() => connect(database))
  after(() => database.drop())
  return database
}

/** A database, connected, that is new for each test of a block. */
export function freshDatabase(): ConnectedDatabase {
  const database = {} as ConnectedDatabase
  beforeEach(() => connect(database))
  afterEach(() => database.drop())
  return database
}

async function connect(database: ConnectedDatabase): Promise<void> {
  const created = await createTestDatabase()
  const as = (url: string) => createPostgres({ url, poolSize: 6, applicationName: APPLICATION })
  const owner = knex({ client: 'pg', connection: created.ownerUrl, pool: { min: 0, max: 4 } })
  const [api, auth] = [as(created.apiUrl), as(created.authUrl)]
  Object.assign(database, created, {
    owner,
    api,
    auth,
    async createCompany(company = {}) {
      const vendorId = newVendorId()
      const acme = { vendorId, name: 'Acme', timezone: 'Europe/Berlin', currency: 'EUR', ...company }
      await insertCompany(owner, acme)
      return acme.vendorId
    },
    async drop() {
      await Promise.all([owner, api, auth].map((db) => db.destroy()))
      await created.drop()
    },
  } satisfies Partial<ConnectedDatabase>)
}
