import { SigningKeyUnreadable } from '#shared/oauth/signing-keys.ts'
import type { Clock } from '#shared/process/clock.ts'
import { ConfigError } from '#shared/process/config.ts'
import type { Log } from '#shared/process/log.ts'
import { watchLoopLag } from '#shared/process/loop-lag.ts'
import { createMetrics, type Metrics } from '#shared/process/metrics.ts'
import type { Service } from '#shared/process/service-process.ts'
import { createRefusals } from '#shared/refusals.ts'
import { createRevocation, type Revocation } from '#shared/revocation/revocation.ts'
import { checkDatabaseUrl, createPostgres, type Database } from '#shared/stores/postgres.ts'
import { connectRedis } from '#shared/stores/redis-watch.ts'
import { measurePools, measureRedis, rateLimits } from '#shared/stores/store-metrics.ts'
import { type Audit, createAudit } from './audit.ts'
import { createAuthenticate } from './authenticate.ts'
import { createClientRecords } from './client-records.ts'
import type { AuthConfig } from './config.ts'
import { createGetJwks, createGetMetadata, createGetReadiness, getHealth } from './documents.ts'
import { createGrantJudge, createRememberingJudge } from './grant-judge.ts'
import { createKeyRing, type KeyRing } from './key-ring.ts'
import { measureKeys } from './measured.ts'
import { createPostRevoke } from './post-revoke.ts'
import { createPostToken } from './post-token.ts'
import { createListener, get, type Methods, post } from './server.ts'
import { createUsageCounter, type UsageCounter } from './usage-counter.ts'

const NAME = 'integration-auth'
const FLUSH_EVERY_MS = 1_000

/** One process of the authorization server with every connection that it holds, but for the socket it listens on. */
export function createAuthService({
  config,
  clock,
  log,
  metrics = createMetrics({ service: 'auth' }),
}: {
  config: AuthConfig
  clock: Clock
  log: Log
  metrics?: Metrics
}): Service {
  const { ISSUER: issuer, API_RESOURCE: resource, TRUSTED_PROXIES: trustedProxies } = config
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize } = config
  const pooled = config.DATABASE_POOLER === 'transaction'
  const db = createPostgres({ url, poolSize, applicationName: NAME, pooled })
  const connections = connectRedis(config, { name: NAME, log })
  const { redis, revocationRedis } = connections
  const revocation = createRevocation({ redis: revocationRedis, db })
  const limit = rateLimits(redis, metrics)
  const keys = createKeyRing({
    db,
    clock,
    log,
    alg: config.SIGNING_ALG,
    encryptionKey: config.KEY_ENCRYPTION_KEY,
  })
  const audit = createAudit(log, metrics)
  const refusals = createRefusals({ redis, clock })
  const usage = createUsageCounter({ redis, clock })
  const lag = watchLoopLag(log)
  measurePools(metrics, { main: db })
  measureRedis(metrics, connections, revocation)
  measureKeys(metrics, keys, clock)

  const errorPage = `${issuer}/docs/errors`
  const getMetadata = createGetMetadata({ issuer, resource })
  let ready = false
  const routes = new Map<string, Methods>([
    ...clientRoutes({ config, db, clock, revocation, keys, audit, usage, limit }),
    ['/v1/oauth/jwks', get(createGetJwks(keys))],
    ['/.well-known/oauth-authorization-server', get(getMetadata)],
    ['/.well-known/openid-configuration', get(getMetadata)],
    ['/healthz', get(getHealth)],
    ['/readyz', get(createGetReadiness({ isReady: () => ready, degraded: connections.degraded }))],
  ])

  const flush = () => Promise.all([usage.flush(), refusals.flush()])
  let flushing: NodeJS.Timeout | undefined
  let endPolling = () => {}
  return {
    handle: createListener({
      routes,
      trustedProxies,
      log,
      audit,
      metrics,
      refusals,
      errorPage,
      ran: lag.ran,
    }),
    async start() {
      await checkDatabaseUrl(db)
      await keys.load().catch(hopeless)
      endPolling = keys.poll()
      flushing = setInterval(flush, FLUSH_EVERY_MS).unref()
      ready = true
    },
    drain() {
      ready = false
    },
    async stop() {
      clearInterval(flushing)
      endPolling()
      await flush()
      revocation.close()
      lag.stop()
      connections.close()
      await db.destroy()
    },
  }
}

/** What only clients may call. */
function clientRoutes({
  config,
  db,
  clock,
  revocation,
  keys,
  audit,
  usage,
  limit,
}: {
  config: AuthConfig
  db: Database
  clock: Clock
  revocation: Revocation
  keys: KeyRing
  audit: Audit
  usage: UsageCounter
  limit: ReturnType<typeof rateLimits>
}): [string, Methods][] {
  const { ISSUER: issuer, API_RESOURCE: resource } = config
  const authenticate = createAuthenticate({
    clients: createClientRecords({ db, clock }),
    revocation,
    keys,
    failures: limit('token-failures', config.RATE_TOKEN_FAILURES_PER_ADDRESS),
  })
  const shared = { authenticate, audit, issuer, resource }
  const postToken = createPostToken({
    ...shared,
    limit: limit('token-client', config.RATE_TOKEN_PER_CLIENT),
    judge: createRememberingJudge(createGrantJudge({ issuer, resource })),
    usage,
    clock,
  })
  const postRevoke = createPostRevoke({
    ...shared,
    limit: limit('token-revocations', config.RATE_TOKEN_REVOCATIONS_PER_CLIENT),
    revocation,
    keys,
  })
  return [
    ['/v1/oauth/token', post(postToken)],
    ['/v1/oauth/revoke', post(postRevoke)],
  ]
}

function hopeless(error: unknown): never {
  throw error instanceof SigningKeyUnreadable ? new ConfigError(error.message) : error
}
