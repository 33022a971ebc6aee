import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { calculateJwkThumbprint, type JWK } from 'jose'
import knex, { type Knex } from 'knex'
import { pino } from 'pino'
import { insertCompany } from '#shared/accounts/people.ts'
import { insertClient, markClientRevoked, type Workload } from '#shared/oauth/clients.ts'
import { hashSecret } from '#shared/oauth/ids.ts'
import { newClientId, newClientSecret, newVendorId } from '#shared/oauth/new-ids.ts'
import type { Scope } from '#shared/oauth/scopes.ts'
import { type IssuerKeys, saveIssuerKeys } from '#shared/oauth/workload-issuers.ts'
import { drain, listen } from '#shared/process/http-server.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { ROUND_TIMINGS } from '#shared/revocation/round-timings.ts'
import { startReconciling } from '#shared/revocation/start-reconciling.ts'
import { createPostgres } from '#shared/stores/postgres.ts'
import { createRedis } from '#shared/stores/redis.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { OAUTH_ERRORS } from '../../apps/api/discovery/docs/errors.ts'
import type { StoreClocks } from '../../apps/auth/clock-watch.ts'
import { type AuthConfig, readAuthConfig } from '../../apps/auth/config.ts'
import { createHttpServer } from '../../apps/auth/server.ts'
import { createAuthService } from '../../apps/auth/service.ts'
import { checkOfAuthorizationServer } from './api-document.ts'
import { createTestClock, type TestClock } from './clock.ts'
import { eventually } from './eventually.ts'
import { createTestDatabase, createTestRedis, type TestDatabase, type TestRedis } from './servers.ts'

export const TEST_ISSUER = 'https://issuer.test'
export const TEST_RESOURCE = 'https://api.test'

const DAY_MS = 24 * 3_600_000

export interface AuthResponse {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape.
  json: any
}

/** Everything of an answer that a caller can compare, but for what differs between any two answers. */
export function fingerprint({ status, headers, text }: AuthResponse) {
  const { date, 'x-request-id': requestId, ...rest } = Object.fromEntries(headers)
  assert.ok(date && requestId)
  return { status, headers: rest, text }
}

export interface TestClient {
  clientId: string
  clientSecret: string
  vendorId: string
  scopes: Scope[]
}

/** What a test wants of a new client; with a `publicKey` or a `workload` the client has no secret. */
export interface WantedClient extends Partial<TestClient> {
  publicKey?: JWK
  /** With the keys of its issuer, which the company may have already. */
  workload?: Workload & Partial<IssuerKeys>
  expiresAt?: Date
}

export interface TestAuth {
  url: string
  /** Method and path of everything that it serves. */
  routes: string[]
  server: Server
  database: TestDatabase
  redis: TestRedis
  clock: TestClock
  /** Where its signing keys are encrypted with. */
  encryptionKey: Buffer
  /** The superuser's connection: to arrange what no route does, and to look. */
  db: Knex
  /** Every line that the server has logged. */
  logLines: string[]
  request(method: string, path: string, init?: RequestInit): Promise<AuthResponse>
  /** POST of a form to a path; fields that are undefined are left out. */
  post(
    path: string,
    fields: Record<string, string | undefined> | string,
    headers?: Record<string, string>,
  ): Promise<AuthResponse>
  /** A token request that is in order, but for what `fields` says otherwise. */
  token(client: TestClient, fields?: Record<string, string | undefined>): Promise<AuthResponse>
  createClient(client?: WantedClient): Promise<TestClient>
  /** Marks the client as Revoked in Postgres, and tells nobody. */
  markRevoked(client: TestClient): Promise<void>
  /** Revokes the client as the resource API does; when it resolves, no process accepts it. */
  revoke(client: TestClient): Promise<void>
  /** The environment of one more process of this server, for a child process. */
  env: Record<string, string>
  stop(): Promise<void>
}

export interface TestAuthOptions {
  /** Another server of the same installation: same database, Redis and clock. */
  beside?: TestAuth
  env?: Record<string, string>
  /** Settings in place of those read from the environment. */
  config?: Partial<AuthConfig>
  /** Do not load keys yet. */
  unready?: boolean
  /** Has Redis vouch for revocations, as in production, where a process of the resource API sees to it. */
  trusted?: boolean
  /** The clocks of the stores. Default: they show what the server's own clock shows. */
  stores?: StoreClocks
}

/** One process's worth of the authorization server on a free port, with a database and a Redis of its own. */
export async function startAuth({
  beside,
  env = {},
  config = {},
  unready,
  trusted,
  stores,
}: TestAuthOptions = {}): Promise<TestAuth> {
  const database = beside?.database ?? (await createTestDatabase())
  const redis = beside?.redis ?? (await createTestRedis())
  const clock = beside?.clock ?? createTestClock()
  const encryptionKey = beside?.encryptionKey ?? randomBytes(32)
  const logLines: string[] = []
  const environment = {
    DATABASE_URL: database.authUrl,
    REDIS_URL: redis.url('auth'),
    ISSUER: TEST_ISSUER,
    API_RESOURCE: TEST_RESOURCE,
    KEY_ENCRYPTION_KEY: encryptionKey.toString('base64'),
    ...env,
  }
  const service = createAuthService({
    config: { ...readAuthConfig(environment), ...config },
    clock,
    stores: stores ?? { postgres: async () => clock.now(), redis: async () => clock.now() },
    log: pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) }),
  })
  if (!unready) {
    await service.start().catch(async (error) => {
      await service.stop()
      throw error
    })
  }
  const reconciler = trusted ? await startReconciler(database, redis) : undefined
  const server = createHttpServer(service.handle)
  const url = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}`
  const db = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 4 } })
  const post: TestAuth['post'] = (path, fields, headers = {}) =>
    send(url, path, {
      method: 'POST',
      body: typeof fields === 'string' ? fields : encode(fields),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })
  return {
    url,
    routes: [...service.routes].flatMap(([path, methods]) =>
      [...methods.keys()].map((one) => `${one} ${path}`),
    ),
    server,
    database,
    redis,
    clock,
    encryptionKey,
    db,
    logLines,
    env: environment,
    request: (method, path, init) => send(url, path, { method, ...init }),
    post,
    token: (client, fields = {}) => post('/v1/oauth/token', { ...tokenFields(client), ...fields }),
    createClient: (client = {}) => createClient(db, client),
    async markRevoked({ clientId, vendorId }) {
      await markClientRevoked(db, { clientId, vendorId, revokedBy: null })
    },
    async revoke({ clientId, vendorId }) {
      const connection = createRedis({ url: redis.url('api'), connectionName: 'test' })
      await redisReady(connection)
      const revocation = createRevocation({ redis: connection, db })
      await revocation.revoke({ kind: 'client', id: clientId }, (transaction) =>
        markClientRevoked(transaction, { clientId, vendorId, revokedBy: null }),
      )
      connection.disconnect()
    },
    async stop() {
      service.drain()
      await drain(server, 500)
      await reconciler?.stop()
      await service.stop()
      await db.destroy()
      if (beside) return
      await redis.stop('SIGKILL')
      await database.drop()
    },
  }
}

/** Rounds that trust a Redis server sooner than in production, and end when Redis vouches for the first time. */
async function startReconciler(database: TestDatabase, redis: TestRedis) {
  const db = createPostgres({ url: database.apiUrl, poolSize: 2, applicationName: 'test' })
  const connection = createRedis({ url: redis.url('api'), connectionName: 'test' })
  await redisReady(connection)
  const timings = { ...ROUND_TIMINGS, settle_ms: 100, round_ms: 100 }
  const reconciling = startReconciling({ redis: connection, db, log: pino({ level: 'silent' }), timings })
  const revocation = createRevocation({ redis: connection, db })
  await eventually(
    async () => {
      await revocation.ask({ clientId: 'anyone' })
      return revocation.counts().redis > 0
    },
    { every_ms: 100, otherwise: () => 'Redis is not trusted' },
  )
  return {
    async stop() {
      await reconciling.stop()
      connection.disconnect()
      await db.destroy()
    },
  }
}

export const tokenFields = ({ clientId, clientSecret, scopes }: TestClient): Record<string, string> => ({
  grant_type: 'client_credentials',
  client_id: clientId,
  client_secret: clientSecret,
  scope: scopes.join(' '),
})

function encode(fields: Record<string, string | undefined>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined)
  return new URLSearchParams(given).toString()
}

export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`

const checkAnswer = checkOfAuthorizationServer({ issuer: TEST_ISSUER, apiResource: TEST_RESOURCE })

async function send(url: string, path: string, init: RequestInit): Promise<AuthResponse> {
  const response = await fetch(url + path, { redirect: 'manual', ...init })
  const text = await response.text()
  const { status, headers } = response
  checkAnswer(init.method ?? 'GET', path, { status, headers, text })
  const json = text.startsWith('{') ? JSON.parse(text) : undefined
  if (json?.error) {
    const explained = OAUTH_ERRORS[json.error]?.statuses ?? []
    assert.ok(explained.includes(status), `the documentation does not explain ${json.error} with ${status}`)
  }
  return { status, headers, text, json }
}

export async function createClient(
  db: Knex,
  { publicKey, workload, expiresAt, ...given }: WantedClient,
): Promise<TestClient> {
  const client = {
    clientId: newClientId(),
    clientSecret: newClientSecret(),
    vendorId: newVendorId(),
    scopes: ['analytics:read'] as Scope[],
    ...given,
  }
  const { vendorId } = client
  if (!given.vendorId) await insertCompany(db, { vendorId, name: 'Acme', timezone: 'UTC', currency: 'EUR' })
  if (workload?.keys) {
    const { issuer, keys, keysFrom = 'issuer', keysAsOf = new Date() } = workload
    await saveIssuerKeys(db, { vendorId, issuer }, { keys, keysFrom, keysAsOf })
  }
  await insertClient(db, {
    clientId: client.clientId,
    vendorId,
    name: 'A client',
    scopes: client.scopes,
    authenticatesBy: publicKey
      ? { publicKey, keyThumbprint: await calculateJwkThumbprint(publicKey) }
      : workload
        ? { workload: { issuer: workload.issuer, claims: workload.claims } }
        : { secretHash: hashSecret(client.clientSecret) },
    expiresAt,
    createdBy: null,
    createdAt: new Date(expiresAt ? expiresAt.getTime() - DAY_MS : Date.now()),
  })
  return client
}
