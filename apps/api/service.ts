import type { RequestListener } from 'node:http'
import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { createPostgres } from '#shared/postgres.ts'
import { createRedis, redisReady } from '#shared/redis.ts'
import { createApi } from './app.ts'
import type { ApiConfig } from './config.ts'

export interface ApiService {
  handle: RequestListener
  /** Connects and begins what runs beside the requests. */
  start(): Promise<void>
  /** Ends that and closes every connection. Call it when no request is left. */
  stop(): Promise<void>
}

/** One process of the resource API, but for the socket that it listens on. */
export function createApiService({
  config,
  clock,
  log,
}: {
  config: ApiConfig
  clock: Clock
  log: Log
}): ApiService {
  const db = createPostgres({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: 'integration-api',
  })
  const redis = createRedis({ url: config.REDIS_URL, connectionName: 'integration-api' })
  const app = createApi({
    settings: { apiResource: config.API_RESOURCE, trustedProxies: config.TRUSTED_PROXIES },
    log,
    clock,
    db,
    redis,
  })
  return {
    handle: app.callback(),
    start: () => redisReady(redis),
    async stop() {
      redis.disconnect()
      await db.destroy()
    },
  }
}
