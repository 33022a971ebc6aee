import { randomBytes, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import knex, { type Knex } from 'knex'
import { sqlState } from '../../apps/api/stores/postgres-errors.ts'
import { migrate, revokePublicRights } from '../../infra/database/migrate.ts'
import { type LocalPostgres, type PostgresPrograms, startPostgres } from '../../infra/local/postgres.ts'
import { type LocalRedis, type RedisUser, startRedis } from '../../infra/local/redis.ts'
import { forbidConnections, joinNodes, listNodes } from './citus.ts'
import { eventually } from './eventually.ts'
import { freePort } from './ports.ts'
import { connectedRedis } from './redis.ts'
import { connectedDatabase } from './stores.ts'
import { inMemory, temporaryFolder } from './temporary-folder.ts'
import { assertCompaniesNamed, STATEMENT_SETTINGS } from './tenant-statements.ts'

/*
 * One Postgres for each run of the tests, with a migrated template: a copy is cheap in memory, so each test
 * can have a database of its own. Likewise a Redis server. test/run.ts starts Postgres, or mocha if it runs
 * alone. Their child processes learn where it is by the environment.
 */
/** The passwords of the roles below the owner, with what SQL or a driver gives a meaning. */
export const PASSWORDS = {
  integration_auth: 'auth?role\\?',
  integration_api: 'api-role',
  integration_operator: 'operator-role',
}
const TEMPLATE = 'template_migrated'
const OBJECT_IN_USE = '55006'
// Processes of tests inherit it, and their URLs without sslmode would be refused with it.
delete process.env.PGSSLMODE

let postgres: LocalPostgres | undefined
/** The superuser's one connection of a worker to each server, from the first use in a file to its end. */
let owners: Knex[] = []
const redisServers = new Set<LocalRedis>()
/** Whether this process started them, and not the one that started it. */
let isOwner = false

export async function mochaGlobalSetup(): Promise<void> {
  if (process.env.TEST_POSTGRES_URLS) return
  isOwner = true
  process.env.TEST_FOLDER = await temporaryFolder('integration-access-test')
  const citusUrl = process.env.TEST_CITUS_URL
  process.env.TEST_POSTGRES_URLS = citusUrl ? (await listNodes(citusUrl)).join(' ') : await startServer()
  if (!citusUrl) await asOwner('create extension pg_stat_statements')
  // A run on a cluster that was stopped leaves it there.
  await asOwner(`drop database if exists ${TEMPLATE}`)
  await asOwner(`create database ${TEMPLATE}`)
  if (citusUrl) await joinNodes(serverUrls(), TEMPLATE)
  const distribute = citusUrl ? 'citus' : undefined
  await migrate({ ownerUrl: databaseUrl(TEMPLATE), passwords: PASSWORDS, distribute })
  if (citusUrl) await forbidConnections(serverUrls(), TEMPLATE)
  await closeOwners()
}

async function startServer(): Promise<string> {
  postgres = await startPostgres({
    directory: join(requiredVariable('TEST_FOLDER'), 'postgres'),
    programs: postgresPrograms(),
    port: await freePort(),
    password: randomBytes(16).toString('hex'),
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_connections: '300',
      max_wal_size: '256MB',
      ...STATEMENT_SETTINGS,
    },
  })
  return postgres.url('postgres')
}

/** `TEST_POSTGRES_BIN=/usr/lib/postgresql/15/bin` runs the tests on another version. */
export function postgresPrograms(): PostgresPrograms | undefined {
  const folder = process.env.TEST_POSTGRES_BIN
  return folder ? { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') } : undefined
}

export const mochaHooks = {
  /** In parallel workers: after each file. */
  async afterAll() {
    await Promise.all([...[...redisServers].map((server) => server.stop('SIGKILL')), closeOwners()])
    redisServers.clear()
  },
}

export async function mochaGlobalTeardown(): Promise<void> {
  if (!isOwner) return
  try {
    if (postgres) await assertCompaniesNamed(databaseUrl('postgres'), databaseUrl(TEMPLATE))
    else if (process.env.TEST_CITUS_URL) await asOwner(`drop database ${TEMPLATE}`)
  } finally {
    await closeOwners()
    await postgres?.stop()
    await rm(requiredVariable('TEST_FOLDER'), { recursive: true, force: true })
  }
}

/** Runs a statement on each server: the test server, or the nodes of a cluster. */
async function asOwner(sql: string): Promise<void> {
  if (owners.length === 0)
    owners = serverUrls().map((url) => knex({ client: 'pg', connection: url, pool: { min: 0, max: 1 } }))
  await Promise.all(owners.map((owner) => owner.raw(sql)))
}

async function closeOwners(): Promise<void> {
  await Promise.all(owners.splice(0).map((owner) => owner.destroy()))
}

/** The coordinator is the first. */
const serverUrls = () => requiredVariable('TEST_POSTGRES_URLS').split(' ')

function databaseUrl(database: string, { user, password }: { user?: string; password?: string } = {}) {
  const url = new URL(serverUrls()[0] as string)
  url.pathname = database
  if (user) url.username = user
  if (password) url.password = password
  return url.href
}

function requiredVariable(name: 'TEST_FOLDER' | 'TEST_POSTGRES_URLS'): string {
  const value = process.env[name]
  if (!value)
    throw new Error('the test servers are not running: run mocha with --require test/support/servers.ts')
  return value
}

/** Copying files is quick in memory. On disk it would first write out the whole cluster, twice. */
const copyStrategy = () => (inMemory(requiredVariable('TEST_FOLDER')) ? 'file_copy' : 'wal_log')

/** Fails where Citus has just connected to it again. */
const tryDrop = (name: string): Promise<boolean> =>
  asOwner(`drop database if exists ${name} with (force)`).then(
    () => true,
    (error) => {
      if (sqlState(error) !== OBJECT_IN_USE) throw error
      return false
    },
  )

export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>

/** A database of its own without a single table. */
export const createEmptyDatabase = () => createDatabase('template1')

async function createDatabase(template: string) {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await asOwner(`create database ${name} template ${template} strategy ${copyStrategy()}`)
  async function drop() {
    await eventually(() => tryDrop(name))
  }
  return { name, ownerUrl: databaseUrl(name), drop, [Symbol.asyncDispose]: drop }
}

/** A database of its own, migrated and empty. */
export async function createTestDatabase() {
  const { name, ownerUrl, ...created } = await createDatabase(TEMPLATE)
  const db = knex({ client: 'pg', connection: databaseUrl(name), pool: { min: 0, max: 1 } })
  await revokePublicRights(db)
    .then(() => db.raw('update revocation_trust set place = database_place()'))
    .finally(() => db.destroy())
  const as = (role: keyof typeof PASSWORDS) => databaseUrl(name, { user: role, password: PASSWORDS[role] })
  const urls = {
    ownerUrl,
    authUrl: as('integration_auth'),
    apiUrl: as('integration_api'),
    operatorUrl: as('integration_operator'),
  }
  const pools = new AsyncDisposableStack()
  async function drop() {
    await pools.disposeAsync()
    await created.drop()
  }
  return {
    ...urls,
    /** Returns a pool of connections with these rights, by default of one. It ends with the database. */
    connect: (
      role: 'owner' | 'auth' | 'api' | 'operator',
      options?: Parameters<typeof connectedDatabase>[1],
    ) => pools.use(connectedDatabase(urls[`${role}Url`], options)),
    drop,
    [Symbol.asyncDispose]: drop,
  }
}

export type TestRedis = Awaited<ReturnType<typeof createTestRedis>>

/** A Redis server of its own, with the users and rights of the local stack. */
export async function createTestRedis(parent = requiredVariable('TEST_FOLDER')) {
  const directory = join(parent, `redis-${randomUUID()}`)
  const passwords: Record<RedisUser, string> = { admin: 'a', auth: 'b', api: 'c' }
  const port = await freePort()
  const connections = new DisposableStack()
  let server = await startRedis({ directory, port, passwords })
  redisServers.add(server)
  async function stop(signal?: NodeJS.Signals) {
    redisServers.delete(server)
    await server.stop(signal)
  }
  return {
    port,
    /** Where it keeps its dump. */
    directory,
    url: (user: RedisUser) => server.url(user),
    /** Returns a connection with the rights of that user, which ends with the server. */
    connect: async (user: RedisUser) => connections.use(await connectedRedis(server.url(user))),
    get ended() {
      return server.ended
    },
    stop,
    /** Starts again on the same port, with the data that the stop left on disk. */
    async start() {
      server = await startRedis({ directory, port, passwords })
      redisServers.add(server)
    },
    [Symbol.asyncDispose]() {
      connections.dispose()
      return stop('SIGKILL')
    },
  }
}
