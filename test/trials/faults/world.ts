import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#shared/process/clock.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { apiShape } from '../../../apps/api/config.ts'
import { authShape } from '../../../apps/auth/config.ts'
import { migrate } from '../../../infra/database/migrate.ts'
import { people } from '../../support/api.ts'
import { createTestClient, tokenFields } from '../../support/auth.ts'
import { letPostgresClockMove } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { asAdmin, dump, through } from '../../support/revocation.ts'
import { createTestRedis, PASSWORDS } from '../../support/servers.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { createOutside } from './outside.ts'
import { createPostgresServer } from './postgres-server.ts'
import { createSite } from './site.ts'

const RESTART_DEADLINE_MS = 120_000
/** Every process has had a tick or two to see the marker. */
const TICKS_MS = 1_500
/** Rates that are counted but never reached. */
const roomyRates = (settings: object): Record<string, string> => {
  const names = Object.keys(settings).filter((name) => /^RATE_.*(?<!_URL)$/.test(name))
  return Object.fromEntries(names.map((name) => [name, '100000000/60']))
}

export type World = Awaited<ReturnType<typeof createWorld>>
export type Company = World['company']

/**
 * Postgres, Redis, two processes of each service, which reach the stores through their own proxies, a foreign
 * service and a company. Disposing of it ends and removes everything.
 */
export async function createWorld() {
  await using starting = new AsyncDisposableStack()
  const folder = await temporaryFolder('integration-access-faults')
  starting.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  const postgres = starting.use(await createPostgresServer(folder))
  const redis = starting.use(await createTestRedis(folder))
  const { db, url: ownerUrl } = postgres
  await migrate({ ownerUrl, passwords: PASSWORDS })
  await letPostgresClockMove(db)
  const outsideNetwork = starting.use(await createTcpProxy())
  const baseUrl = `http://127.0.0.1:${outsideNetwork.port}`

  /** Starts a process, with its own stretches of network to the stores. */
  async function startService(service: 'auth' | 'api', number: number, more: Record<string, string>) {
    const toRedis = starting.use(await createTcpProxy(redis.port))
    const toPostgres = starting.use(await createTcpProxy(Number(new URL(ownerUrl).port)))
    const database = new URL(through(ownerUrl, toPostgres))
    database.username = `integration_${service}`
    database.password = PASSWORDS[`integration_${service}`]
    const env = {
      DATABASE_URL: database.href,
      REDIS_URL: through(redis.url(service), toRedis),
      ISSUER: baseUrl,
      API_RESOURCE: baseUrl,
      LOG_LEVEL: 'error',
      ...roomyRates(service === 'auth' ? authShape : apiShape),
      ...more,
    }
    const name = `${service} ${number}`
    const site = starting.use(await createSite({ name, service, main: `apps/${service}/main.ts`, env }))
    await site.start()
    return { ...site, redis: toRedis, postgres: toPostgres }
  }

  /** Resolves once Redis decides about revocations again. */
  async function untilTrusted(limit_ms: number): Promise<void> {
    const marker = () => asAdmin(redis, (admin) => admin.get(redisKeys.revocationMarker)).catch(() => null)
    const otherwise = () => `Redis is not trusted after ${limit_ms} ms`
    await eventually(async () => (await marker()) !== null, { limit_ms, otherwise })
    await sleep(TICKS_MS)
  }

  const KEY_ENCRYPTION_KEY = randomBytes(32).toString('base64')
  const auth = [
    await startService('auth', 1, { KEY_ENCRYPTION_KEY }),
    await startService('auth', 2, { KEY_ENCRYPTION_KEY }),
  ] as const
  const api = [
    await startService('api', 1, { JWKS_URL: `${auth[0].url}/v1/oauth/jwks` }),
    await startService('api', 2, { JWKS_URL: `${auth[1].url}/v1/oauth/jwks` }),
  ]
  await untilTrusted(RESTART_DEADLINE_MS)
  outsideNetwork.lead(...auth.map(({ url }) => Number(new URL(url).port)))
  const outside = starting.use(await createOutside(outsideNetwork))
  await outside.start()
  const client = await createTestClient(db, { scopes: ['analytics:read', 'analytics:write'] })
  const { vendorId } = client
  const { sessionToken } = await people('', db, systemClock).createPerson({ vendorId })
  const services = [...auth, ...api]
  const world = {
    /** The owner's connection, without a proxy: to set up what no route does, and to check. */
    db,
    ownerUrl,
    postgres,
    redis,
    /** A dump of Redis from the beginning, with a marker in it. */
    oldDump: await dump(redis),
    auth,
    api,
    /** Our processes. */
    services,
    outside,
    /** Our processes and the outside one. */
    sites: [...services, outside],
    /** A company, its owner's session, a client that nobody revokes, and the newest token of that. */
    company: { vendorId, sessionToken, client, token: '' },
    untilTrusted,
  }
  const started = starting.move()
  return { ...world, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

export type Credentials = Pick<Company['client'], 'clientId' | 'clientSecret' | 'scopes'>

export const tokenCall = (client: Credentials) => ({
  path: '/v1/oauth/token',
  body: new URLSearchParams(tokenFields(client)),
})

/** A request to our API or to the outside service. */
export const dailyCall = ({ vendorId, token }: Company, bearer = token) => ({
  path: `/v1/analytics/${vendorId}/daily`,
  bearer,
})
