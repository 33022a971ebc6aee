import { systemClock } from '#shared/clock.ts'
import { ConfigError } from '#shared/config.ts'
import { createLog } from '#shared/log.ts'
import { createPostgres } from '#shared/postgres.ts'
import { createRateLimit } from '#shared/rate-limit.ts'
import { createRedis } from '#shared/redis.ts'
import { createClientRecords } from '#shared/revocation/record-cache.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { exitUnstarted, runServiceProcess, type Service } from '#shared/service-process.ts'
import { SigningKeyUnreadable } from '#shared/signing-keys.ts'
import { createUsageCounter } from '#shared/usage.ts'
import { type AuthConfig, readAuthConfig } from './config.ts'
import { createHttpServer } from './http-server.ts'
import { createAuthServer } from './server.ts'

/** One process of the authorization server with everything that it holds open. */
function createService(config: AuthConfig): Service {
  const clock = systemClock
  const name = 'integration-auth'
  const db = createPostgres({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: name,
  })
  const redis = createRedis({ url: config.REDIS_URL, connectionName: name })
  const revocationRedis = config.REVOCATION_REDIS_URL
    ? createRedis({ url: config.REVOCATION_REDIS_URL, connectionName: name })
    : redis
  const revocation = createRevocation({ redis: revocationRedis, db })
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
      client: createRateLimit({ redis, policy: { name: 'token-client', ...config.RATE_TOKEN_PER_CLIENT } }),
      failures: createRateLimit({
        redis,
        policy: { name: 'token-failures', ...config.RATE_TOKEN_FAILURES_PER_ADDRESS },
      }),
    },
    usage: createUsageCounter({ redis, clock }),
  })
  return {
    handle: server.listener,
    start: () => server.ready().catch(hopeless),
    drain: () => server.drain(),
    async stop() {
      await server.close()
      revocation.close()
      for (const connection of new Set([redis, revocationRedis])) connection.disconnect()
      await db.destroy()
    },
  }
}

function hopeless(error: unknown): never {
  throw error instanceof SigningKeyUnreadable ? new ConfigError(error.message) : error
}

const config = (() => {
  try {
    return readAuthConfig(process.env)
  } catch (error) {
    return exitUnstarted(error)
  }
})()
const log = createLog({ service: 'auth', level: config.LOG_LEVEL })

runServiceProcess({
  host: config.HOST,
  port: config.PORT,
  processes: config.PROCESSES,
  log,
  createHttpServer,
  createService: () => createService(config),
}).catch(exitUnstarted)
