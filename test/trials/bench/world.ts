import { randomBytes } from 'node:crypto'
import { mkdtemp, open, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import knex from 'knex'
import { migrate } from '../../../infra/database/migrate.ts'
import { startChild } from '../../../infra/local/child.ts'
import type { Lifecycle } from '../../../infra/local/lifecycle.ts'
import { startPostgres } from '../../../infra/local/postgres.ts'
import { serviceEnvironment } from '../../../infra/service-environment.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { createTestRedis } from '../../support/servers.ts'
import { onCore } from './cores.ts'

const ROOT = join(import.meta.dirname, '../../..')
const START_DEADLINE_MS = 30_000
const POLL_MS = 10
/** A newly named Redis server is trusted after 6 s; until then every question goes to Postgres. */
const TRUST_MS = 9_000
/** Limits that are counted on every request but never reached. */
const ROOMY = '100000000/60'

export interface Server {
  url: string
  pid: number
  stop(): Promise<void>
}

export type BenchServers = Awaited<ReturnType<typeof startBenchServers>>

/** The stores as in the local stack, durable, in a new folder on free ports, and one of each service. */
export async function startBenchServers(lifecycle: Lifecycle) {
  const directory = await mkdtemp(join(tmpdir(), 'integration-access-bench-'))
  lifecycle.add({ stop: () => rm(directory, { recursive: true, force: true }) })
  const password = randomBytes(16).toString('hex')
  const postgres = await startPostgres({
    directory: join(directory, 'postgres'),
    port: await freePort(),
    password,
  })
  lifecycle.add(postgres)
  const databaseUrl = postgres.url('postgres')
  const redis = await createTestRedis(directory)
  lifecycle.add({ stop: () => redis.stop('SIGKILL') })
  const passwords = { integration_auth: password, integration_api: password }
  await migrate({ ownerUrl: databaseUrl, passwords })
  const db = knex({ client: 'pg', connection: databaseUrl, pool: { min: 0, max: 2 } })
  lifecycle.add({ stop: () => db.destroy() })
  const logFile = join(directory, 'servers.log')
  const authPort = await freePort()
  const issuer = `http://127.0.0.1:${authPort}`

  async function start(program: string, env: Record<string, string>, port: number): Promise<Server> {
    const [command = '', ...args] = onCore('server', [process.execPath, join(ROOT, program)])
    const log = await open(logFile, 'a')
    const child = startChild(command, args, {
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        ...serviceEnvironment(),
        ...env,
        HOST: '127.0.0.1',
        PORT: String(port),
      },
      // Logs go to a file, as for a log shipper. The channel ends a service when this process is gone.
      stdio: ['ignore', log.fd, 'pipe', 'ipc'],
    })
    lifecycle.add(child)
    await log.close()
    const url = `http://127.0.0.1:${port}`
    await eventually(async () => child.end() ?? (await isReady(url)), {
      otherwise: () => `${program} was not ready in time: ${child.output()}`,
      limit_ms: START_DEADLINE_MS,
      every_ms: POLL_MS,
    }).catch(async (error) => {
      await child.stop()
      throw error
    })
    if (child.end() !== undefined) throw new Error(`${program} did not start: ${child.output()}`)
    return { url, pid: child.process.pid as number, stop: () => child.stop() }
  }

  /** Starts a process of a service. */
  async function startService(name: 'auth' | 'api', port?: number): Promise<Server> {
    const roleUrl = new URL(databaseUrl)
    roleUrl.username = `integration_${name}`
    const env = {
      DATABASE_URL: roleUrl.href,
      REDIS_URL: redis.url(name),
      PROCESSES: '1',
      ISSUER: issuer,
      API_RESOURCE: issuer,
      LOG_LEVEL: 'info',
      DRAIN_DELAY_S: '0',
      ...(name === 'auth'
        ? {
            KEY_ENCRYPTION_KEY: Buffer.alloc(32, password).toString('base64'),
            RATE_TOKEN_PER_CLIENT: ROOMY,
            RATE_TOKEN_FAILURES_PER_ADDRESS: ROOMY,
          }
        : { RATE_API_PER_CLIENT: ROOMY }),
    }
    return start(`apps/${name}/main.ts`, env, port ?? (await freePort()))
  }

  /** Starts a server of floors/. It may do anything in the stores. */
  async function startFloor(name: string, env: Record<string, string> = {}): Promise<Server> {
    const world = {
      BENCH_DATABASE_URL: databaseUrl,
      BENCH_REDIS_URL: redis.url('admin'),
      BENCH_ISSUER: issuer,
    }
    return start(`test/trials/bench/floors/${name}.ts`, { ...world, ...env }, await freePort())
  }

  const auth = await startService('auth', authPort)
  const api = await startService('api')
  await sleep(TRUST_MS)
  return {
    directory,
    /** A connection as the owner. */
    db,
    auth,
    api,
    startService,
    startFloor,
    /** Empties the file that all servers log to. */
    forgetLogs: () => truncate(logFile),
  }
}

/** Returns whether the server says that it is ready. A floor is ready if it answers at all. */
const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status !== 503,
    () => false,
  )
