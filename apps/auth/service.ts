import { createContextReader } from '#shared/http/request-context.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import { createMetrics, type Metrics, measureReadiness } from '#shared/process/metrics.ts'
import type { Service } from '#shared/process/service-process.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { PRODUCTION_TIMINGS, type Timings } from '#shared/revocation/timings.ts'
import { checkDatabaseUrl, createPostgres, type PostgresTimeouts } from '#shared/stores/postgres.ts'
import { rateLimits } from '#shared/stores/rate-limit.ts'
import { connectRedis } from '#shared/stores/redis-watch.ts'
import { measurePools, measureRedis } from '#shared/stores/store-metrics.ts'
import { createClientUsage } from '#shared/usage/client-usage.ts'
import { createAssertions } from './assertion.ts'
import { createAudit } from './audit.ts'
import { createAuthenticate, createCountFailure } from './authenticate.ts'
import { createClientRecords } from './client-records.ts'
import { type StoreClocks, storeClocks, watchClock } from './clock-watch.ts'
import type { AuthConfig } from './config.ts'
import { createGetDocument, createGetKeys, createGetReadiness, getHealth } from './documents.ts'
import { createGetRevocations } from './get-revocations.ts'
import { createGrants } from './grant.ts'
import type { Handler } from './http.ts'
import { createReadIssuedToken } from './issued-token.ts'
import { createKeyRing } from './key-ring.ts'
import { openIdMetadata, serverMetadata } from './metadata.ts'
import { measureClock, measureKeys } from './metrics.ts'
import { createPostIntrospect } from './post-introspect.ts'
import { createPostRevoke } from './post-revoke.ts'
import { createPostToken } from './post-token.ts'
import { createListener, get, type Methods, post } from './server.ts'
import type { TokenKey } from './token-key.ts'

const NAME = 'integration-auth'
const TICK_MS = 1_000

export interface AuthServiceOptions {
  config: AuthConfig
  clock: Clock
  log: Log
  metrics?: Metrics
  stores?: StoreClocks | undefined
  timeouts?: Partial<PostgresTimeouts & Timings & { commandTimeout_ms: number }>
}

/** One process of the authorization server with all its connections, except the socket it listens on. */
export function createAuthService(
  options: AuthServiceOptions,
): Service & { routes: ReadonlyMap<string, Methods> } {
  const { config, clock, log, metrics = createMetrics({ service: 'auth' }) } = options
  const parts = createParts(options, metrics)
  const { db, connections, keys, grantFor, clockWatch, audit, usage } = parts
  let phase = ['start']
  const waitingFor = () => [...phase, ...(clockWatch.isRight() ? [] : ['clock'])]
  const health = () => ({ waitingFor: waitingFor(), degraded: connections.degraded() })
  measureReadiness(metrics, async () => health())
  const routes = createRoutes(config, clock, parts, createGetReadiness(health))
  const readContext = createContextReader(config, log)
  const errorPage = `${config.ISSUER}/docs/errors`
  let ticking: NodeJS.Timeout | undefined
  return {
    routes,
    handle: createListener({ routes, readContext, audit, metrics, errorPage }),
    async start() {
      await checkDatabaseUrl(db, 'integration_auth')
      await connections.ready()
      // Before there are keys, since nothing is signed or accepted without one.
      await clockWatch.check()
      await keys.start()
      await usage.start()
      // If oidc-provider rejects its configuration, the start must fail, not a request.
      grantFor(keys.signer() as TokenKey)
      ticking = setInterval(() => {
        keys.poll()
        clockWatch.poll()
      }, TICK_MS).unref()
      phase = []
    },
    drain() {
      phase = ['end']
    },
    async stop() {
      clearInterval(ticking)
      await usage.stop()
      connections.close()
      await db.destroy()
    },
  }
}

function createParts({ config, clock, log, stores, timeouts }: AuthServiceOptions, metrics: Metrics) {
  const db = createPostgres({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: NAME,
    pooled: config.DATABASE_POOLER === 'transaction',
    ...timeouts,
  })
  const connections = connectRedis(config, { name: NAME, log, ...timeouts })
  const { redis, revocationRedis, rateRedis } = connections
  const timings = { ...PRODUCTION_TIMINGS, tick_ms: TICK_MS / 4, ...timeouts }
  const revocation = createRevocation({ redis: revocationRedis, db, timings, onTick: connections.reportTick })
  const { SIGNING_ALG: alg, KEY_ENCRYPTION_KEY: encryptionKey } = config
  const usage = createClientUsage({ redis: rateRedis, db, clock, log })
  measurePools(metrics, { main: db })
  measureRedis(metrics, connections.watches, revocation)
  const clockWatch = watchClock({ clock, log, stores: stores ?? storeClocks(db, redis) })
  const keys = createKeyRing({ db, clock, log, alg, encryptionKey })
  measureKeys(metrics, keys, clock)
  measureClock(metrics, clockWatch)
  return {
    db,
    connections,
    revocation,
    keys,
    grantFor: createGrants({ issuer: config.ISSUER, resource: config.API_RESOURCE }),
    clockWatch,
    audit: createAudit(log, metrics, usage),
    usage,
    createLimit: rateLimits(rateRedis, metrics),
  }
}

function createRoutes(
  config: AuthConfig,
  clock: Clock,
  parts: ReturnType<typeof createParts>,
  getReadiness: Handler,
): Map<string, Methods> {
  const { db, connections, revocation, keys, createLimit } = parts
  const { ISSUER: issuer, API_RESOURCE: resource } = config
  const countFailure = createCountFailure(
    createLimit('token-failures', config.RATE_TOKEN_FAILURES_PER_ADDRESS),
  )
  const clients = createClientRecords({ db, clock })
  const limit = createLimit('assertions-company', config.RATE_ASSERTIONS_PER_COMPANY)
  const assertions = createAssertions({ redis: connections.redis, clock, issuer, limit })
  const authenticate = createAuthenticate({ ...parts, clients, countFailure, clock, assertions })
  const readIssuedToken = createReadIssuedToken(keys, issuer, resource)
  const deps = { ...parts, clock, issuer, resource, countFailure, authenticate, readIssuedToken }
  const tokens = createLimit('token-client', config.RATE_TOKEN_PER_CLIENT)
  const revocations = createLimit('token-revocations', config.RATE_TOKEN_REVOCATIONS_PER_CLIENT)
  const companyLimit = createLimit('token-revocations-company', config.RATE_TOKEN_REVOCATIONS_PER_COMPANY)
  const introspections = createLimit('introspections', config.RATE_INTROSPECTIONS_PER_SERVICE)
  const metadata = JSON.stringify(serverMetadata({ issuer, resource }))
  const algorithms = () => new Set(keys.live().map(({ key }) => key.alg))
  const openId = () => JSON.stringify(openIdMetadata({ issuer, resource }, algorithms()))
  const getKeys = get(createGetKeys(keys, revocation))
  return new Map([
    ['/v1/oauth/token', post(createPostToken({ ...deps, limit: tokens }))],
    ['/v1/oauth/revoke', post(createPostRevoke({ ...deps, limit: revocations, companyLimit }))],
    ['/v1/oauth/introspect', post(createPostIntrospect({ ...deps, limit: introspections }))],
    ['/v1/oauth/revocations', get(createGetRevocations(deps))],
    ['/v1/oauth/jwks', getKeys],
    ['/.well-known/jwks.json', getKeys],
    ['/.well-known/oauth-authorization-server', get(createGetDocument(() => metadata))],
    ['/.well-known/openid-configuration', get(createGetDocument(openId))],
    ['/healthz', get(getHealth)],
    ['/readyz', get(getReadiness)],
  ])
}
