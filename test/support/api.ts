import knex, { type Knex } from 'knex'
import { pino } from 'pino'
import { hashSecret } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import { drain, listen } from '#shared/process/http-server.ts'
import { PRODUCTION_TIMINGS, type Timings } from '#shared/revocation/timings.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { newSessionToken, newUserId } from '../../apps/api/accounts/new-ids.ts'
import {
  type CompanyRecord,
  insertUser,
  type Membership,
  saveMembership,
  type User,
} from '../../apps/api/accounts/people.ts'
import type { NewClientRecord } from '../../apps/api/clients/records.ts'
import { createService, type ServiceOptions } from '../../apps/api/compose.ts'
import { readApiConfig } from '../../apps/api/config.ts'
import { createApiServer } from '../../apps/api/http/server.ts'
import { describeApi } from '../../apps/api/routes.ts'
import { insertSession } from '../../apps/api/sessions/sessions.ts'
import { createAnswerCheck } from './api-document.ts'
import { forBlock, forEachTest } from './block.ts'
import { createTestClock, type TestClock } from './clock.ts'
import { insertTestClient, insertTestCompany } from './companies.ts'
import { API_RESOURCE, createTestIssuer, ISSUER, type TestIssuer } from './issuer.ts'
import { asAdmin } from './revocation.ts'
import { createTestDatabase, createTestRedis, type TestDatabase, type TestRedis } from './servers.ts'
import { PATIENT, PATIENT_SERVER, untilStarted } from './stores.ts'

export const TEST_PASSWORD = 'correct horse battery staple'
/** The hash of that password with 8 KiB and one pass of argon2id, which saves 30 ms a sign-in. */
const TEST_PASSWORD_HASH =
  '$argon2id$v=19$m=8,t=1,p=1$AQEBAQEBAQEBAQEBAQEBAQ$iyRpKq+3DWhSLYw2be6jjlV3JDAEEII4D2O8vZrWcmA'

export interface ApiResponse {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape.
  json: any
}

export interface ApiRequest {
  token?: string
  /** Sent as JSON, unless it is a string, which is sent as it is with the JSON media type. */
  body?: unknown
  headers?: Record<string, string>
}

export type TestPerson = Awaited<ReturnType<TestApi['createPerson']>>
export type TestApi = Awaited<ReturnType<typeof startApi>>

export interface TestApiOptions {
  /** Another API of the same installation: same database, Redis and clock. */
  beside?: { database: TestDatabase; redis: TestRedis; clock: TestClock; issuer: TestIssuer }
  env?: Record<string, string>
  /** Before days ago, so that no purge that began by the real time deletes what a test stores for then. */
  startsAt?: string
  /** Stand-ins for DNS and the internet. Default: the real ones. */
  internet?: ServiceOptions['internet']
  /** Default: the protocol runs five times as fast as in production. */
  revocationTimings?: Timings
  /** In place of production's, which `{}` leaves. Default: PATIENT. */
  timeouts?: ServiceOptions['timeouts']
}

export const TEST_TIMINGS: Timings = {
  ...PRODUCTION_TIMINGS,
  lease_ms: 1_000,
  settle_ms: 1_200,
  round_ms: 200,
  tick_ms: 200,
  retry_ms: 25,
}

/** Starts one process's worth of the resource API on a free port, with its own database and Redis. */
export async function startApi(options: TestApiOptions = {}) {
  const { beside, env = {}, startsAt, internet } = options
  const { revocationTimings = TEST_TIMINGS, timeouts = PATIENT } = options
  const database = beside?.database ?? (await createTestDatabase())
  const redis = beside?.redis ?? (await createTestRedis())
  // The world is older than its Redis.
  if (!beside) await asAdmin(redis, (admin) => admin.set(redisKeys.requestsBegin, 1))
  const clock = beside?.clock ?? createTestClock(startsAt)
  const issuer = beside?.issuer ?? (await createTestIssuer({ clock }))
  const logLines: string[] = []
  const environment = {
    DATABASE_URL: database.apiUrl,
    REDIS_URL: redis.url('api'),
    ISSUER,
    API_RESOURCE,
    JWKS_URL: issuer.jwksUrl,
    TRUSTED_PROXIES: '',
    // Tests move the clock by hours while a session waits.
    SESSION_IDLE_MINUTES: '720',
    ...env,
  }
  const service = createService({
    revocationTimings: { ...revocationTimings, ...timeouts },
    timeouts,
    config: readApiConfig(environment),
    clock,
    ...(internet && { internet }),
    log: pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) }),
  })
  await untilStarted(service)
  const server = createApiServer(service.handle)
  if (timeouts === PATIENT) Object.assign(server, PATIENT_SERVER)
  const url = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}`
  const db = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 4 } })
  const apiDb = database.connect('api', { poolSize: 4 })
  async function stop() {
    await drain(server, 1_000)
    await service.stop()
    await db.destroy()
    if (beside) return
    await issuer[Symbol.asyncDispose]()
    await redis[Symbol.asyncDispose]()
    await database.drop()
  }
  return {
    url,
    database,
    redis,
    clock,
    /** Signs access tokens that the API accepts. */
    issuer,
    /** The superuser's connection: to set up what no route does, and to check. */
    db,
    /** A connection with the rights of the API. */
    apiDb,
    logLines,
    /** The environment of one more process of this API, for a child process. */
    env: environment as Record<string, string>,
    request: (method: string, path: string, request?: ApiRequest) => send(url, path, method, request),
    ...people(url, db, clock),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

export const sharedApi = (options?: TestApiOptions) => forBlock(() => startApi(options))

export const freshApi = (options?: TestApiOptions) => forEachTest(() => startApi(options))

/** The owner of a company that is created anew for each test of a block. */
export const freshOwner = (api: TestApi) => forEachTest(() => api.createOwner())

/** Returns the entries of all pages of a list, in their order. `read` reads the page of a query. */
export async function readPages<Entry>(
  read: (search: string) => Promise<ApiResponse>,
  list: string,
  query: string,
): Promise<Entry[]> {
  const entries: Entry[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { status, text, json } = await read(`?${query}${cursor && `&cursor=${cursor}`}`)
    // A full page that is the last says so: no empty one follows it.
    if (status !== 200 || entries.length > 1_000 || (cursor && json[list].length === 0)) throw new Error(text)
    entries.push(...json[list])
    cursor = json.nextCursor
  }
  return entries
}

const document = describeApi({ issuer: ISSUER, apiResource: API_RESOURCE })
// The authorization server's: here they are 404.
for (const [path, methods] of Object.entries(document.paths))
  if (Object.values(methods).some(({ tags }) => tags.includes('OAuth'))) delete document.paths[path]
/** Every answer that a test gets is checked against the document. */
const checkAnswer = createAnswerCheck(document)

async function send(url: string, path: string, method: string, { token, body, headers }: ApiRequest = {}) {
  const response = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  checkAnswer(method, path, { status: response.status, headers: response.headers, text })
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text ? JSON.parse(text) : undefined,
  }
}

/** Creates companies and people of the API at `url`. */
export function people(url: string, db: Knex, clock: Clock) {
  async function createSession(userId: string): Promise<string> {
    const token = newSessionToken()
    await insertSession(db, { tokenHash: hashSecret(token), userId, now: new Date(clock.now()) })
    return token
  }
  const createClient = (given?: Partial<NewClientRecord>) =>
    insertTestClient(db, { createdAt: new Date(clock.now()), ...given })
  /** A user, signed in, whose password is TEST_PASSWORD; a member of the company when one is named. */
  async function createPerson({
    vendorId = '',
    role = 'owner',
    status = 'active',
    userId = newUserId(),
    name = `A ${role}`,
    email = `${userId}@people.example`.toLowerCase(),
  }: Partial<Membership & User> = {}) {
    const user: User = { userId, name, email }
    await insertUser(db, { ...user, passwordHash: TEST_PASSWORD_HASH })
    if (vendorId) await saveMembership(db, { vendorId, userId, role, status })
    return {
      ...user,
      /** The company, empty for a person of none. */
      vendorId,
      sessionToken: await createSession(userId),
      /** Sends a request below the company's path: `owner.request('GET', 'people')`. */
      request(method: string, path: string, { at, ...request }: ApiRequest & { at?: { url: string } } = {}) {
        const to = `/v1/vendor/${this.vendorId}/${path}`
        return send(at?.url ?? url, to, method, { token: this.sessionToken, ...request })
      },
      /** Invites someone to the company. Returns the token of the invitation. */
      async invite(email: string, more?: { name?: string; role?: string }): Promise<string> {
        const body = { name: 'Kim R.', email, role: 'admin', deliver: 'link', ...more }
        const { status, json, text } = await this.request('POST', 'people', { body })
        if (status !== 201) throw new Error(text)
        return json.invitationUrl.split('#')[1]
      },
      /** An Active client of the company, made without the API. */
      createClient(client?: Partial<NewClientRecord>): ReturnType<typeof createClient> {
        return createClient({ vendorId: this.vendorId, ...client })
      },
    }
  }
  return {
    createSession,
    /** An Active client, made without the API, of a new company unless another is named. */
    createClient,
    createCompany: (given?: Partial<CompanyRecord>) => insertTestCompany(db, given),
    createPerson,
    async createOwner(company?: Partial<CompanyRecord>) {
      const { vendorId } = await insertTestCompany(db, company)
      return createPerson({ vendorId })
    },
  }
}
