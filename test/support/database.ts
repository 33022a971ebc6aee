import knex, { type Knex } from 'knex'
import type { CompanyRecord } from '../../apps/api/accounts/people.ts'
import { forBlock, forEachTest } from './block.ts'
import { insertTestCompany } from './companies.ts'
import { createTestDatabase } from './servers.ts'

export const sharedDatabase = () => forBlock(connect)

export const freshDatabase = () => forEachTest(connect)

async function connect() {
  const database = await createTestDatabase()
  const owner = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 4 } })
  return {
    ...database,
    /** The superuser's connection: to arrange, and to look. */
    owner,
    /** Connections with the rights of the services. */
    api: database.connect('api', { poolSize: 6 }),
    auth: database.connect('auth', { poolSize: 6 }),
    createCompany: async (company?: Partial<CompanyRecord>) =>
      (await insertTestCompany(owner, company)).vendorId,
    async [Symbol.asyncDispose]() {
      await owner.destroy()
      await database.drop()
    },
  }
}

/** Puts functions before Postgres' own: later connections see a time shifted by `by` of clock_shift. */
export async function letPostgresClockMove(db: Knex): Promise<void> {
  await db.raw(`
    create table clock_shift (by interval not null);
    insert into clock_shift values ('0');
    grant select on clock_shift to public;
    create function public.now() returns timestamptz stable language sql
      as 'select pg_catalog.now() + by from public.clock_shift';
    create function public.clock_timestamp() returns timestamptz volatile language sql
      as 'select pg_catalog.clock_timestamp() + by from public.clock_shift'`)
  const { rows } = await db.raw('select current_database() as name')
  await db.raw('alter database ?? set search_path = public, pg_catalog', [rows[0].name])
}
