import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import knex from 'knex'
import { freePort } from '../../infra/local/ports.ts'
import { type LocalPostgres, startPostgres } from '../../infra/local/postgres.ts'
import { type LocalRedis, type RedisUser, startRedis } from '../../infra/local/redis.ts'
import { migrate } from '../../infra/migrate.ts'

/*
 * One Postgres for the whole run, started once, with a migrated template that every test database is copied from
 * in some 60 ms. A Redis server of its own for whoever asks.
 */
const PASSWORDS = { integration_auth: 'auth-role', integration_api: 'api-role' }
const TEMPLATE = 'template_migrated'

let directory: string | undefined
let postgres: LocalPostgres | undefined
const redisServers = new Set<LocalRedis>()

export async function mochaGlobalSetup(): Promise<void> {
  directory = await mkdtemp(join(tmpdir(), 'integration-access-test-'))
  postgres = await startPostgres({
    directory: join(directory, 'postgres'),
    port: await freePort(),
    password: randomBytes(16).toString('hex'),
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
  })
  await asOwner('postgres', `create database ${TEMPLATE}`)
  await migrate({ ownerUrl: postgres.url(TEMPLATE), passwords: PASSWORDS })
}

export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all([...redisServers].map((server) => server.stop('SIGKILL')))
  await postgres?.stop()
  if (directory) await rm(directory, { recursive: true, force: true })
}

async function asOwner(database: string, sql: string): Promise<void> {
  const db = knex({ client: 'pg', connection: running().url(database), pool: { min: 0, max: 1 } })
  await db.raw(sql).finally(() => db.destroy())
}

function running(): LocalPostgres {
  if (!postgres) throw new Error('the test servers are not running')
  return postgres
}

export interface TestDatabase {
  ownerUrl: string
  authUrl: string
  apiUrl: string
  drop(): Promise<void>
}

export type EmptyDatabase = Pick<TestDatabase, 'ownerUrl' | 'drop'>

/** A database of its own without a single table. */
export async function createEmptyDatabase(): Promise<EmptyDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await asOwner('postgres', `create database ${name}`)
  return {
    ownerUrl: running().url(name),
    drop: () => asOwner('postgres', `drop database if exists ${name} with (force)`),
  }
}

/** A database of its own, migrated and empty. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await asOwner('postgres', `create database ${name} template ${TEMPLATE}`)
  const as = (role: keyof typeof PASSWORDS) => {
    const url = new URL(running().url(name))
    url.username = role
    url.password = PASSWORDS[role]
    return url.href
  }
  return {
    ownerUrl: running().url(name),
    authUrl: as('integration_auth'),
    apiUrl: as('integration_api'),
    drop: () => asOwner('postgres', `drop database if exists ${name} with (force)`),
  }
}

export interface TestRedis extends LocalRedis {
  /** Starts again on the same port, with the data that the stop left on disk. */
  start(): Promise<void>
  /** Where it keeps its dump. */
  directory: string
}

/** A Redis server of its own, with the users and rights of the local stack. */
export async function createTestRedis(): Promise<TestRedis> {
  const folder = join(directory as string, `redis-${randomUUID()}`)
  const passwords: Record<RedisUser, string> = { admin: 'a', auth: 'b', api: 'c' }
  const port = await freePort()
  let server = await startRedis({ directory: folder, port, passwords })
  redisServers.add(server)
  return {
    port,
    directory: folder,
    url: (user) => server.url(user),
    get ended() {
      return server.ended
    },
    async stop(signal) {
      redisServers.delete(server)
      await server.stop(signal)
    },
    async start() {
      server = await startRedis({ directory: folder, port, passwords })
      redisServers.add(server)
    },
  }
}
