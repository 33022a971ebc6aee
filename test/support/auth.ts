import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import knex, { type Knex } from 'knex'
import { pino } from 'pino'
import { hashSecret } from '#shared/oauth/ids.ts'
import type { Scope } from '#shared/oauth/scopes.ts'
import { drain, listen } from '#shared/process/http-server.ts'
import { createMetrics } from '#shared/process/metrics.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import { newClientId, newClientSecret, newVendorId } from '../../apps/api/accounts/new-ids.ts'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import { OAUTH_ERRORS } from '../../apps/api/discovery/docs/errors.ts'
import { createApiDocument } from '../../apps/api/discovery/openapi/document.ts'
import { type IssuerKeys, saveIssuerKeys } from '../../apps/api/workload/issuers.ts'
import type { WorkloadIdentity } from '../../apps/api/workload/workload.ts'
import type { StoreClocks } from '../../apps/auth/clock-watch.ts'
import { type AuthConfig, readAuthConfig } from '../../apps/auth/config.ts'
import { createAuthServer } from '../../apps/auth/server.ts'
import { type AuthServiceOptions, createAuthService } from '../../apps/auth/service.ts'
import { registerService } from '../../infra/admin/services.ts'
import type { ApiResponse } from './api.ts'
import { createAnswerCheck } from './api-document.ts'
import { forBlock } from './block.ts'
import { createTestClock, type TestClock } from './clock.ts'
import { insertTestClient, insertTestCompany } from './companies.ts'
import { API_RESOURCE, ISSUER } from './issuer.ts'
import { testOperator } from './operator.ts'
import { revokeClient, startTestProcess } from './revocation.ts'
import { createTestDatabase, createTestRedis, type TestDatabase, type TestRedis } from './servers.ts'
import { PATIENT, PATIENT_SERVER, untilStarted } from './stores.ts'

const DAY_MS = 24 * 3_600_000

export type AuthResponse = ApiResponse

/** Returns what a caller can compare of an answer, without what differs between any two answers. */
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

/** Fields that are undefined are left out. */
type Fields = Record<string, string | undefined>

/** A new client; with a `publicKey` or a `workload` the client has no secret. */
export interface NewTestClient extends Partial<TestClient> {
  publicKey?: JWK
  /** With the keys of its issuer, which the company may have already. */
  workload?: Omit<WorkloadIdentity, 'platform'> & Partial<Pick<WorkloadIdentity, 'platform'> & IssuerKeys>
  expiresAt?: Date
}

export type TestAuth = Awaited<ReturnType<typeof startAuth>>

export interface TestAuthOptions {
  /** Another server of the same installation: same database, Redis and clock. */
  beside?: { database: TestDatabase; redis: TestRedis; clock: TestClock; encryptionKey?: Buffer }
  env?: Record<string, string>
  /** Settings in place of those read from the environment. */
  config?: Partial<AuthConfig>
  unready?: boolean
  /** Lets Redis decide about revocations, as in production, where the resource API keeps it trusted. */
  trusted?: boolean
  /** The clocks of the stores. Default: they show what the server's own clock shows. */
  stores?: StoreClocks
  /** In place of production's, which `{}` leaves. Default: PATIENT. */
  timeouts?: AuthServiceOptions['timeouts']
}

/** Starts one process's worth of the authorization server on a free port, with its own database and Redis. */
export async function startAuth(options: TestAuthOptions = {}) {
  const { beside, env = {}, config = {}, unready, trusted, stores, timeouts = PATIENT } = options
  const database = beside?.database ?? (await createTestDatabase())
  const redis = beside?.redis ?? (await createTestRedis())
  const clock = beside?.clock ?? createTestClock()
  const encryptionKey = beside?.encryptionKey ?? randomBytes(32)
  const logLines: string[] = []
  const environment = {
    DATABASE_URL: database.authUrl,
    REDIS_URL: redis.url('auth'),
    ISSUER,
    API_RESOURCE,
    KEY_ENCRYPTION_KEY: encryptionKey.toString('base64'),
    ...env,
  }
  const metrics = createMetrics({ service: 'auth' })
  const service = createAuthService({
    metrics,
    config: { ...readAuthConfig(environment), ...config },
    clock,
    timeouts,
    stores: stores ?? { postgres: async () => clock.now(), redis: async () => clock.now() },
    log: pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) }),
  })
  if (!unready)
    await untilStarted(service).catch(async (error) => {
      await service.stop()
      throw error
    })
  const stopReconciling = trusted ? await keepRedisTrusted(database, redis) : undefined
  const server = createAuthServer(service.handle)
  if (timeouts === PATIENT) Object.assign(server, PATIENT_SERVER)
  const url = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}`
  const db = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 4 } })
  const post = (path: string, fields: Fields | string, headers: Record<string, string> = {}) =>
    send(url, path, {
      method: 'POST',
      body: typeof fields === 'string' ? fields : encode(fields),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })
  async function stop() {
    service.drain()
    await drain(server, 500)
    await stopReconciling?.()
    await service.stop()
    await db.destroy()
    if (beside) return
    await redis[Symbol.asyncDispose]()
    await database.drop()
  }
  return {
    url,
    /** Method and path of everything that it serves. */
    routes: [...service.routes].flatMap(([path, methods]) =>
      [...methods.keys()].map((method) => `${method} ${path}`),
    ),
    server,
    database,
    redis,
    clock,
    encryptionKey,
    /** The superuser's connection: to set up what no route does, and to check. */
    db,
    logLines,
    metrics,
    /** The environment of one more process of this server, for a child process. */
    env: environment as Record<string, string>,
    request: (method: string, path: string, init?: RequestInit) => send(url, path, { method, ...init }),
    post,
    /** A token request that is in order, but for what `fields` says otherwise. */
    token: (client: TestClient, fields: Fields = {}) =>
      post('/v1/oauth/token', { ...tokenFields(client), ...fields }),
    createClient: (client: NewTestClient = {}) => createTestClient(db, client),
    revokeToken: (client: TestClient, token: string, fields: Fields = {}) =>
      post('/v1/oauth/revoke', { ...tokenFields(client), token, ...fields }),
    /** Creates a service, which may introspect. Returns the fields that authenticate it. */
    async createService() {
      const { serviceId, serviceSecret } = await registerService(db, { name: 'Boost', by: testOperator() })
      return { client_id: serviceId, client_secret: serviceSecret }
    },
    introspect: (service: Fields, token: string, fields: Fields = {}) =>
      post('/v1/oauth/introspect', { ...service, token, ...fields }),
    /** Marks the client as Revoked in Postgres alone. */
    async markRevoked({ clientId, vendorId }: TestClient) {
      await markClientRevoked(db, { clientId, vendorId, revokedBy: null })
    },
    /** Revokes the client as the resource API does; when it resolves, no process accepts it. */
    async revoke(client: TestClient) {
      const stores = { redisUrl: redis.url('api'), databaseUrl: database.ownerUrl }
      await using process = await startTestProcess({
        ...stores,
        timings: { ...PRODUCTION_TIMINGS, ...PATIENT },
      })
      await revokeClient(process, client)
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

export const sharedAuth = (options?: TestAuthOptions) => forBlock(() => startAuth(options))

/** Runs rounds that trust Redis sooner than in production. Resolves once it is, with what stops them. */
async function keepRedisTrusted(database: TestDatabase, redis: TestRedis): Promise<() => Promise<void>> {
  const timings = { ...PRODUCTION_TIMINGS, settle_ms: 100, round_ms: 100 }
  const stores = { redisUrl: redis.url('api'), databaseUrl: database.apiUrl }
  const process = await startTestProcess({ ...stores, timings })
  await process.untilTrusted()
  const stop = process.keepReconciling()
  return async () => {
    await stop()
    await process.close()
  }
}

export const tokenFields = (client: Omit<TestClient, 'vendorId'>): Record<string, string> => ({
  grant_type: 'client_credentials',
  client_id: client.clientId,
  client_secret: client.clientSecret,
  scope: client.scopes.join(' '),
})

function encode(fields: Fields): string {
  const defined = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined)
  return new URLSearchParams(defined).toString()
}

export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`

/** The authorization server's part of the document needs no running API. */
const checkAnswer = createAnswerCheck(
  createApiDocument({ issuer: ISSUER, apiResource: API_RESOURCE, routes: [] }),
)

async function send(url: string, path: string, init: RequestInit): Promise<AuthResponse> {
  const response = await fetch(url + path, { redirect: 'manual', ...init })
  const text = await response.text()
  const { status, headers } = response
  checkAnswer(init.method ?? 'GET', path, { status, headers, text })
  const json = text.startsWith('{') ? JSON.parse(text) : undefined
  if (json?.error) {
    const explained = OAUTH_ERRORS[json.error]?.statuses.includes(status)
    assert.ok(explained, `the documentation does not explain ${json.error} with ${status}`)
  }
  return { status, headers, text, json }
}

export async function createTestClient(
  db: Knex,
  { publicKey, workload, expiresAt, ...given }: NewTestClient,
): Promise<TestClient> {
  const client = {
    clientId: newClientId(),
    clientSecret: newClientSecret(),
    vendorId: newVendorId(),
    scopes: ['analytics:read'] as Scope[],
    ...given,
  }
  const { clientId, vendorId, scopes } = client
  if (!given.vendorId) await insertTestCompany(db, { vendorId })
  const { issuer = '', platform = null, claims = {}, keys, keysFrom = 'issuer', keysAsOf } = workload ?? {}
  if (keys)
    await saveIssuerKeys(db, { vendorId, issuer }, { keys, keysFrom, keysAsOf: keysAsOf ?? new Date() })
  const authenticatesBy = publicKey
    ? { publicKey, keyThumbprint: await calculateJwkThumbprint(publicKey) }
    : workload
      ? { workload: { issuer, platform, claims } }
      : { secretHash: hashSecret(client.clientSecret) }
  const createdAt = new Date(expiresAt ? expiresAt.getTime() - DAY_MS : Date.now())
  await insertTestClient(db, { clientId, vendorId, scopes, authenticatesBy, expiresAt, createdAt })
  return client
}
