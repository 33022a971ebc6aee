import { randomBytes } from 'node:crypto'
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import knex, { type Knex } from 'knex'
import { type Child, startChild } from '../../infra/local/child.ts'
import { freePort } from '../../infra/local/ports.ts'
import { type LocalPostgres, startPostgres } from '../../infra/local/postgres.ts'
import { type LocalRedis, startRedis } from '../../infra/local/redis.ts'
import { migrate } from '../../infra/migrate.ts'
import { hashSecret, newClientId, newClientSecret } from '../../shared/ids.ts'
import { onCore, type Place } from './cores.ts'

const START_DEADLINE_MS = 30_000
/** In force and counted on every request, but never reached. */
const ROOMY = '100000000/60'

export interface BenchClient {
  clientId: string
  clientSecret: string
}

export interface Server {
  url: string
  /** The pids that do its work: the process, or its cluster workers. */
  pids: number[]
  stop(): Promise<void>
}

/** Postgres, Redis, a folder for files, and the services and floors that were started in it. */
export interface World {
  directory: string
  db: Knex
  startAuth(options?: { processes?: number; place?: Place }): Promise<Server>
  startApi(authUrl: string, options?: { place?: Place }): Promise<Server>
  startFloor(name: string, env: Record<string, string>): Promise<Server>
  stop(): Promise<void>
}

/** The stores as the local stack runs them, durability on, in a new folder on free ports. */
export async function createWorld(): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), 'integration-access-bench-'))
  const password = randomBytes(16).toString('hex')
  const postgres = await startPostgres({
    directory: join(directory, 'postgres'),
    port: await freePort(),
    password,
  })
  const passwords = { admin: password, auth: password, api: password }
  const redis = await startRedis({ directory: join(directory, 'redis'), port: await freePort(), passwords })
  await migrate({
    ownerUrl: postgres.url('postgres'),
    passwords: { integration_auth: password, integration_api: password },
  })
  const db = knex({ client: 'pg', connection: postgres.url('postgres'), pool: { min: 0, max: 2 } })
  const common = { directory, postgres, redis, password, running: new Set<Server>() }
  return {
    directory,
    db,
    startAuth: (options = {}) => startAuth(common, options),
    startApi: (authUrl, options = {}) => startApi(common, authUrl, options),
    startFloor: (name, env) => startFloor(common, name, env),
    async stop() {
      await Promise.all([...common.running].map((server) => server.stop()))
      await db.destroy()
      await redis.stop('SIGKILL')
      await postgres.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

interface Common {
  directory: string
  postgres: LocalPostgres
  redis: LocalRedis
  password: string
  running: Set<Server>
}

function serviceEnvironment({ postgres, redis, password }: Common, role: 'auth' | 'api', issuer: string) {
  const database = new URL(postgres.url('postgres'))
  database.username = `integration_${role}`
  database.password = password
  return {
    DATABASE_URL: database.href,
    REDIS_URL: redis.url(role),
    ISSUER: issuer,
    API_RESOURCE: issuer,
    LOG_LEVEL: 'info',
  }
}

async function startAuth(common: Common, { processes = 1, place = 'server' as Place }): Promise<Server> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  return startServer(common, 'apps/auth/main.ts', url, place, processes, {
    ...serviceEnvironment(common, 'auth', url),
    PROCESSES: String(processes),
    KEY_ENCRYPTION_KEY: Buffer.alloc(32, common.password).toString('base64'),
    RATE_TOKEN_PER_CLIENT: ROOMY,
    RATE_TOKEN_FAILURES_PER_ADDRESS: ROOMY,
  })
}

async function startApi(common: Common, authUrl: string, { place = 'server' as Place }): Promise<Server> {
  const url = `http://127.0.0.1:${await freePort()}`
  return startServer(common, 'apps/api/main.ts', url, place, 1, {
    ...serviceEnvironment(common, 'api', authUrl),
    JWKS_URL: `${authUrl}/v1/oauth/jwks`,
    RATE_API_PER_CLIENT: ROOMY,
  })
}

async function startFloor(common: Common, name: string, env: Record<string, string>): Promise<Server> {
  const url = `http://127.0.0.1:${await freePort()}`
  return startServer(common, `test/bench/floors/${name}.ts`, url, 'server', 1, env)
}

async function startServer(
  { directory, running }: Common,
  file: string,
  url: string,
  place: Place,
  processes: number,
  env: Record<string, string>,
): Promise<Server> {
  const [command, ...args] = onCore(place, [process.execPath, file])
  const log = await open(join(directory, 'servers.log'), 'a')
  const child = startChild(command as string, args, {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      ...env,
      HOST: '127.0.0.1',
      PORT: new URL(url).port,
    },
    // Logs go to a file, as a log shipper would have it.
    stdio: ['ignore', log.fd, 'pipe'],
  })
  await log.close()
  await answers(url, child)
  const pid = child.process.pid as number
  const server: Server = {
    url,
    pids: processes > 1 ? await workersOf(pid) : [pid],
    async stop() {
      running.delete(server)
      await child.stop()
    },
  }
  running.add(server)
  return server
}

async function workersOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children.trim().split(' ').map(Number)
}

/** Waits until the server says that it is ready, or, being a floor, says anything at all. */
async function answers(url: string, child: Child): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS
  for (;;) {
    const status = await fetch(`${url}/readyz`).then(
      (response) => response.status,
      () => undefined,
    )
    if (status !== undefined && status !== 503) return
    if (child.process.exitCode !== null || Date.now() > deadline)
      throw new Error(`a server did not start: ${child.output()}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Inserts `count` clients of one company. Safe to call again for more. */
export async function addClients(db: Knex, count: number, vendorId = 'ven_bench'): Promise<BenchClient[]> {
  await db.raw(
    `insert into companies (vendor_id, name, timezone, currency) values (?, 'Bench', 'Europe/Berlin', 'EUR') on conflict do nothing`,
    [vendorId],
  )
  const clients = Array.from({ length: count }, () => ({
    clientId: newClientId(),
    clientSecret: newClientSecret(),
  }))
  for (let from = 0; from < count; from += 5_000) {
    const some = clients.slice(from, from + 5_000)
    await db.raw(
      `insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
       select id, ?, 'bench', array['analytics:read'], decode(hash, 'hex') from unnest(?::text[], ?::text[]) as c (id, hash)`,
      [vendorId, some.map((c) => c.clientId), some.map((c) => hashSecret(c.clientSecret).toString('hex'))],
    )
  }
  return clients
}

/** The form bodies of a token request for each client, one a line, in a file for the generator. */
export async function tokenBodies(directory: string, name: string, clients: BenchClient[]): Promise<string> {
  const file = join(directory, `${name}.txt`)
  const lines = clients.map(({ clientId, clientSecret }) =>
    new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: 'analytics:read',
    }).toString(),
  )
  await writeFile(file, `${lines.join('\n')}\n`)
  return file
}
