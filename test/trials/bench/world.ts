import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import knex from 'knex'
import { migrate } from '../../../infra/database/migrate.ts'
import { type LocalPostgres, startPostgres } from '../../../infra/local/postgres.ts'
import { type LocalRedis, startRedis } from '../../../infra/local/redis.ts'
import { freePort } from '../../support/ports.ts'
import type { Server, Servers } from './servers.ts'

/** In force and counted on every request, but never reached. */
const ROOMY = '100000000/60'
/** A newly named Redis server is trusted after 6 s; until then every question goes to Postgres. */
const TRUST_MS = 9_000

export type ServiceName = 'auth' | 'api'

export type World = Awaited<ReturnType<typeof createWorld>>

/** The stores as the local stack runs them, durability on, in a new folder on free ports, and a service each. */
export async function createWorld(servers: Servers) {
  const { directory } = servers
  const stores = await startStores(directory)
  const { postgres, redis } = stores
  const db = knex({ client: 'pg', connection: postgres.url('postgres'), pool: { min: 0, max: 2 } })
  async function stop(): Promise<void> {
    await db.destroy()
    await redis.stop('SIGKILL')
    await postgres.stop()
  }
  try {
    const auth = await startService(servers, stores, 'auth')
    const start = (name: ServiceName) =>
      startService(servers, stores, name, name === 'api' ? auth.url : undefined)
    const api = await start('api')
    await sleep(TRUST_MS)
    return {
      directory,
      /** As owner of everything. */
      db,
      auth,
      api,
      /** What tokens are issued by and for. */
      issuer: auth.url,
      /** For floors that ask the stores, as users that may do anything. */
      stores: { BENCH_DATABASE_URL: postgres.url('postgres'), BENCH_REDIS_URL: redis.url('admin') },
      /** Starts one more process of a service. */
      startService: start,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Stores {
  postgres: LocalPostgres
  redis: LocalRedis
  /** Of every user of either. */
  password: string
}

async function startStores(directory: string): Promise<Stores> {
  const password = randomBytes(16).toString('hex')
  const passwords = { admin: password, auth: password, api: password }
  const postgres = await startPostgres({
    directory: join(directory, 'postgres'),
    port: await freePort(),
    password,
  })
  const redis = await startRedis({ directory: join(directory, 'redis'), port: await freePort(), passwords })
  await migrate({
    ownerUrl: postgres.url('postgres'),
    passwords: { integration_auth: password, integration_api: password },
  })
  return { postgres, redis, password }
}

function startService(
  servers: Servers,
  { postgres, redis, password }: Stores,
  name: ServiceName,
  issuer?: string,
): Promise<Server> {
  const database = new URL(postgres.url('postgres'))
  database.username = `integration_${name}`
  database.password = password
  return servers.start({
    program: `apps/${name}/main.ts`,
    env: (url) => ({
      DATABASE_URL: database.href,
      REDIS_URL: redis.url(name),
      PROCESSES: '1',
      ISSUER: issuer ?? url,
      API_RESOURCE: issuer ?? url,
      LOG_LEVEL: 'info',
      DRAIN_DELAY_S: '0',
      ...(name === 'auth'
        ? {
            KEY_ENCRYPTION_KEY: Buffer.alloc(32, password).toString('base64'),
            RATE_TOKEN_PER_CLIENT: ROOMY,
            RATE_ASSERTIONS_PER_COMPANY: ROOMY,
            RATE_TOKEN_FAILURES_PER_ADDRESS: ROOMY,
            RATE_INTROSPECTIONS_PER_SERVICE: ROOMY,
          }
        : { RATE_API_PER_CLIENT: ROOMY, RATE_API_EVENTS_PER_CLIENT: ROOMY, RATE_API_PER_SESSION: ROOMY }),
    }),
  })
}
