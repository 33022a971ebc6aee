import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { markSchema, SCHEMA_NEEDED } from '#shared/stores/database-checks.ts'
import { migrate } from '../../../infra/database/migrate.ts'
import { createClient } from '../../support/auth.ts'
import { createTestDatabase, createTestRedis } from '../../support/servers.ts'
import { type Check, openDatabase } from './check.ts'
import { startInstallation } from './installation.ts'
import { startLoad } from './load.ts'

const MIGRATIONS = join(import.meta.dirname, '../../../infra/database/migrations')
/** Each asks for one token, so that its record is read from Postgres. */
const CLIENTS = 1_500
/** A dump, or a report, that reads the tables while they are changed. */
const READER_MS = 8_000
const SETTLED_MS = 2_000

/** As a next release would change the tables that every request uses: first it only adds, then it takes away. */
const EXPAND = `
  alter table oauth_clients add column purpose text check (char_length(purpose) <= 100);
  alter table analytics_events add column source text;
  alter table revoked_tokens add column reason text;
  create table client_purposes (client_id text primary key references oauth_clients, purpose text not null);
  grant select on client_purposes to integration_auth, integration_api;`
const CONTRACT = `
  drop table client_purposes;
  alter table oauth_clients drop column purpose;
  alter table analytics_events drop column source;
  alter table revoked_tokens drop column reason;`
const SQL: Record<string, string> = { '9001_expand.sql': EXPAND, '9002_contract.sql': CONTRACT }

/** The migrations of this release, and so many of a next one. */
async function nextRelease(names: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-migrations-'))
  await cp(MIGRATIONS, folder, { recursive: true })
  for (const name of names) await writeFile(join(folder, name), SQL[name] ?? '')
  return folder
}

/** Services of this release go on, under load, while the migrations of a next one run beside a long reader. */
export async function upgraded(): Promise<Check[]> {
  const database = await createTestDatabase()
  const redis = await createTestRedis()
  const owner = openDatabase(database.ownerUrl)
  const { vendorId, scopes } = await createClient(owner, { scopes: ['analytics:read', 'analytics:write'] })
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, () => createClient(owner, { vendorId, scopes })),
  )
  const services = await startInstallation({
    databaseUrls: { auth: database.authUrl, api: database.apiUrl },
    redis,
    keyEncryptionKey: randomBytes(32).toString('base64'),
  })
  const readiness = async () => (await fetch(`${services.apiUrl}/readyz`)).status
  while ((await readiness()) !== 200) await sleep(100)
  const load = startLoad(services, clients)
  await sleep(SETTLED_MS)

  async function migrateBesideReader(names: string[], serves: number): Promise<number> {
    const reader = await owner.transaction()
    await reader.raw('select count(*) from oauth_clients, analytics_events, revoked_tokens')
    const directory = await nextRelease(names)
    const migrating = migrate({ ownerUrl: database.ownerUrl, directory })
    await sleep(READER_MS)
    await reader.rollback()
    await migrating
    await markSchema(owner, 9000 + names.length, serves)
    await rm(directory, { recursive: true })
    await sleep(SETTLED_MS)
    return readiness()
  }
  const expanded = await migrateBesideReader(['9001_expand.sql'], SCHEMA_NEEDED)
  const contracted = await migrateBesideReader(['9001_expand.sql', '9002_contract.sql'], SCHEMA_NEEDED + 1)
  await load.stop()
  const { rows } = await owner.raw('select count(*) as stored from analytics_events')
  await services.stop()
  await owner.destroy()
  await redis.stop('SIGKILL')
  await database.drop()
  const answers = Object.fromEntries(load.answers)
  process.stdout.write(`${JSON.stringify(answers)}, slowest ${Math.round(load.slowest_ms)} ms\n`)
  const { 'token 200': tokens = 0, 'read 200': reads = 0, 'ingest 200': ingested = 0, ...others } = answers
  return [
    ['every request was answered as ever', Object.keys(others).length === 0 && tokens === reads],
    ['there was a load', tokens > 100],
    ['every event that was accepted is stored', Number(rows[0].stored) === ingested],
    ['on the expanded schema, this release is ready', expanded === 200],
    ['on one that no longer serves it, it is not', contracted === 503],
  ]
}
