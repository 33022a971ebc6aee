import '#shared/process/environment.ts'
import pg from 'pg'
import { createRedis } from '#shared/stores/redis.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { errorMessage } from '../database/error-messages.ts'
import type { ShowProgress } from '../progress.ts'
import type { DataDir } from './data-dir.ts'
import { onFreePort } from './ports.ts'
import { startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'
import type { LocalSecrets } from './secrets.ts'
import { StartError } from './start-error.ts'

const DATABASE = 'integration'
const ANSWER_DEADLINE_MS = 5_000
const CREATE_DEADLINE_MS = 60_000
/** Two pools per process, a few processes, and room for psql. */
const MAX_CONNECTIONS = '200'

/** A store that the stack started, or an existing one, which has nothing to stop. */
export interface Store {
  /** The URL with all rights: the owner of the tables, or Redis' admin. */
  ownerUrl: string
  /** The URL of a service. */
  serviceUrl(service: 'auth' | 'api'): string
  /** Resolves when it has exited, with its last output. */
  ended?: Promise<string>
  stop(): Promise<void>
  kill(): Promise<void>
}

/** A Postgres with the roles of the migration. */
export interface PostgresStore extends Store {
  /** The URL of the operator's commands. */
  operatorUrl: string
}

export interface StoreOptions {
  dataDir: DataDir
  secrets: LocalSecrets
  show: ShowProgress
}

/**
 * Uses an existing Postgres, where the roles get the passwords of `secrets`.
 * @param url the owner's URL.
 * @throws StartError if it does not answer.
 */
export async function attachPostgres(url: string, secrets: LocalSecrets): Promise<PostgresStore> {
  let client: pg.Client | undefined
  try {
    client = new pg.Client({ connectionString: url, connectionTimeoutMillis: ANSWER_DEADLINE_MS })
    client.on('error', () => {})
    await client.connect()
  } catch (error) {
    throw new StartError(`The Postgres of DATABASE_URL cannot be used: ${reason(error)}.`)
  } finally {
    await client?.end().catch(() => {})
  }
  return { ...postgresAt(url, secrets), ...nothingToStop }
}

function postgresAt(url: string, secrets: LocalSecrets) {
  const createUrl = (role: Exclude<keyof LocalSecrets['postgres'], 'postgres'>): string => {
    const roleUrl = new URL(url)
    roleUrl.username = role
    roleUrl.password = secrets.postgres[role]
    return roleUrl.href
  }
  return {
    ownerUrl: url,
    operatorUrl: createUrl('integration_operator'),
    serviceUrl: (service: 'auth' | 'api') => createUrl(`integration_${service}`),
  }
}

/**
 * Uses an existing Redis, with one URL for both services.
 * @throws StartError if it does not answer.
 */
export async function attachRedis(url: string): Promise<Store> {
  const redis = createRedis({ url, connectionName: 'integration-local' })
  try {
    await redisReady(redis, ANSWER_DEADLINE_MS)
  } catch (error) {
    throw new StartError(`The Redis of REDIS_URL cannot be used: ${reason(error)}.`)
  } finally {
    redis.disconnect()
  }
  return { ownerUrl: url, serviceUrl: () => url, ...nothingToStop }
}

/** The clients' messages contain no password. */
const reason = (error: unknown): string => errorMessage(error) || 'it does not answer'

const nothingToStop = { stop: async () => {}, kill: async () => {} }

export async function startOwnPostgres({ dataDir, secrets, show }: StoreOptions): Promise<PostgresStore> {
  const directory = dataDir.at('postgres')
  const options = { password: secrets.postgres.postgres, settings: { max_connections: MAX_CONNECTIONS } }
  const server = await onFreePort((port) => startPostgres({ directory, port, ...options }))
  try {
    await createDatabase(server.url('postgres'))
  } catch (error) {
    await server.stop()
    throw error
  }
  show(`Postgres: on 127.0.0.1:${server.port}`)
  const { ended, stop, kill } = server
  return { ...postgresAt(server.url(DATABASE), secrets), ended, stop, kill }
}

export async function startOwnRedis({ dataDir, secrets, show }: StoreOptions): Promise<Store> {
  const directory = dataDir.at('redis')
  const server = await onFreePort((port) => startRedis({ directory, port, passwords: secrets.redis }))
  show(`Redis: on 127.0.0.1:${server.port}`)
  return {
    ownerUrl: server.url('admin'),
    serviceUrl: (service) => server.url(service),
    ended: server.ended,
    stop: () => server.stop(),
    kill: () => server.stop('SIGKILL'),
  }
}

/**
 * Creates the database, the only one that the roles may connect to.
 * @throws StartError if that fails, or a step of it takes longer than `deadline_ms`.
 */
export async function createDatabase(url: string, deadline_ms = CREATE_DEADLINE_MS): Promise<void> {
  const limits = { connectionTimeoutMillis: deadline_ms, query_timeout: deadline_ms }
  const client = new pg.Client({ connectionString: url, ...limits })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`create database ${DATABASE}`)
    await client.query('revoke connect on database postgres, template1 from public')
  } catch (error) {
    const advice = 'start again when this machine is less busy, or set DATA_DIR to a new folder'
    throw new StartError(`Postgres could not create the database (${reason(error)}): ${advice}.`)
  } finally {
    await client.end().catch(() => {})
  }
}
