import { SigningKeyUnreadable } from '#shared/oauth/signing-keys.ts'
import type { Clock } from '#shared/process/clock.ts'
import { ConfigError } from '#shared/process/config.ts'
import type { Log } from '#shared/process/log.ts'
import { watchLoopLag } from '#shared/process/loop-lag.ts'
import { createMetrics, type Metrics } from '#shared/process/metrics.ts'
import type { Service } from '#shared/process/service-process.ts'
import { createRefusals } from '#shared/refusals.ts'
import { measureDecisions } from '#shared/revocation/measured.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { refuseSuperuser } from '#shared/stores/database-checks.ts'
import { createPostgres } from '#shared/stores/postgres.ts'
import { createRateLimit } from '#shared/stores/rate-limit.ts'
import { createRedis } from '#shared/stores/redis.ts'
import { watchRedis } from '#shared/stores/redis-watch.ts'
import { createHitCounter, measurePools, measureRedis } from '#shared/stores/store-metrics.ts'
import { createClientRecords } from './client-records.ts'
import type { AuthConfig } from './config.ts'
import { measureKeys } from './measured.ts'
import { createAuthServer } from './server.ts'
import { createUsageCounter } from './usage-counter.ts'

const NAME = 'integration-auth'

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
  const { DATABASE_URL, DATABASE_POOL_SIZE, REDIS_URL, REVOCATION_REDIS_URL } = config
  const db = createPostgres({ url: DATABASE_URL, poolSize: DATABASE_POOL_SIZE, applicationName: NAME })
  const redis = createRedis({ url: REDIS_URL, connectionName: NAME })
  const revocationRedis =
    REVOCATION_REDIS_URL === undefined
      ? redis
      : createRedis({ url: REVOCATION_REDIS_URL, connectionName: NAME })
  const watch = watchRedis({ redis, log })
  const revocationWatch =
    revocationRedis === redis ? watch : watchRedis({ redis: revocationRedis, log, name: 'revocation' })
  const watched = { redis: watch, ...(revocationWatch !== watch && { revocation: revocationWatch }) }
  const degraded = () =>
    Object.values(watched).some((each) => each.trouble() !== undefined) ? ['redis'] : []
  const revocation = createRevocation({ redis: revocationRedis, db })
  const lag = watchLoopLag(log)
  const counted = createHitCounter(metrics)
  measurePools(metrics, { main: db })
  measureRedis(metrics, watched, revocationWatch)
  measureDecisions(metrics, revocation)
  measureKeys(metrics, { db, clock })
  const limit = (name: string, rate: AuthConfig['RATE_TOKEN_PER_CLIENT']) =>
    counted(createRateLimit({ redis, policy: { name, ...rate } }))
  const server = createAuthServer({
    settings: {
      issuer: config.ISSUER,
      resource: config.API_RESOURCE,
      trustedProxies: config.TRUSTED_PROXIES,
      signingAlg: config.SIGNING_ALG,
      keyEncryptionKey: config.KEY_ENCRYPTION_KEY,
    },
    log,
    clock,
    db,
    clients: createClientRecords({ db, clock }),
    revocation,
    limits: {
      tokens: limit('token-client', config.RATE_TOKEN_PER_CLIENT),
      revocations: limit('token-revocations', config.RATE_TOKEN_REVOCATIONS_PER_CLIENT),
      failures: limit('token-failures', config.RATE_TOKEN_FAILURES_PER_ADDRESS),
    },
    usage: createUsageCounter({ redis, clock }),
    refusals: createRefusals({ redis, clock }),
    degraded,
    ran: lag.ran,
    metrics,
  })
  return {
    handle: server.listener,
    async start() {
      await refuseSuperuser(db)
      await server.ready().catch(hopeless)
    },
    drain: () => server.drain(),
    async stop() {
      await server.close()
      await Promise.all(Object.values(watched).map((each) => each.stop()))
      revocation.close()
      lag.stop()
      for (const connection of new Set([redis, revocationRedis])) connection.disconnect()
      await db.destroy()
    },
  }
}

function hopeless(error: unknown): never {
  throw error instanceof SigningKeyUnreadable ? new ConfigError(error.message) : error
}
