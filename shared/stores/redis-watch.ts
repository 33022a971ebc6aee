import { type CommonConfig, ConfigError } from '#shared/process/config.ts'
import type { Log } from '#shared/process/log.ts'
import { createRedis, createRedisOrCluster, type RedisOrCluster, type RedisParts } from './redis.ts'
import { redisKeys } from './redis-keys.ts'
import { redisReady } from './redis-ready.ts'

const PROBE_EVERY_MS = 2_000
/** As many as a cluster of several servers has all but certainly spread over all of them. */
const PROBED_KEYS = Array.from({ length: 16 }, (_, n) => redisKeys.rateLimit('probe', `${n}`))
const REPEAT_EVERY_MS = 60_000
const REASON_MAX_CHARACTERS = 200
/** A service starts without Redis after this. */
const READY_WITHIN_MS = 1_000

export type RedisWatch = ReturnType<typeof watchRedis<RedisOrCluster>>

/** What ioredis says without a connection: the cause came before, if it was more than a timeout. */
const GENERAL = /^(?:Connection is closed|Stream isn't|Cluster isn't|Failed to refresh slots cache)/

/**
 * Tracks whether the server lets this process do its work. One that refuses or does not answer is logged with
 * its own reason when that begins, each minute while it lasts, and once when it ends.
 */
export function watchRedis<R extends RedisOrCluster>(parts: { redis: R; log: Log; name: string }) {
  const { redis, log, name } = parts
  let trouble: string | undefined
  let cause: string | undefined
  let closed = false
  /** By reason: the servers of a cluster have one each. */
  const loggedAt_ms = new Map<string, number>()

  /** Redis never puts a password into its errors. If several addresses failed, reports the first error. */
  function report(error?: Error & { code?: string; errors?: Error[] }): void {
    if (closed) return
    const text = error && (error.message || error.errors?.[0]?.message || error.code || error.name)
    const reason = text && GENERAL.test(text) ? (cause ?? text) : text?.slice(0, REASON_MAX_CHARACTERS)
    if (reason !== 'Command timed out') cause = reason
    const now_ms = performance.now()
    if (reason === undefined) {
      if (trouble !== undefined) log.info({ event: 'redis.usable', redis: name }, 'Redis can be used again')
      loggedAt_ms.clear()
    } else if (now_ms - (loggedAt_ms.get(reason) ?? Number.NEGATIVE_INFINITY) >= REPEAT_EVERY_MS) {
      loggedAt_ms.set(reason, now_ms)
      log.warn({ event: 'redis.unusable', redis: name, reason }, 'Redis cannot be used')
    }
    trouble = reason
  }

  // A failed connection; commands fail meanwhile without a reason of their own.
  redis.on('error', report)
  return {
    redis,
    name,
    /** Returns why Redis cannot be used, in its own words; undefined while it can. */
    trouble: () => trouble,
    /** Takes the outcome of a command that any process may send: its error, if it failed. */
    report,
    /** Ends the connection. Commands that fail from now on are no longer reported. */
    close(): void {
      closed = true
      redis.disconnect()
    },
  }
}

export type RedisConnections = ReturnType<typeof connectRedis>

type RedisUrls = Pick<CommonConfig, 'REDIS_URL'> & Partial<CommonConfig>

/**
 * A process's connections to Redis, each watched. Those for revocations and for rates (which includes refused
 * and latest requests) may be the main one. The watch of the one for revocations waits for reports of the
 * lease's ticks; each other is probed. `name`: as in `CLIENT LIST`.
 */
export function connectRedis(urls: RedisUrls, parts: { name: string; log: Log; commandTimeout_ms?: number }) {
  const { name, log, commandTimeout_ms } = parts
  const { REDIS_URL, REVOCATION_REDIS_URL, RATE_REDIS_URL } = urls
  const connect = <R extends RedisOrCluster>(create: (parts: RedisParts) => R, url: string, as: string) =>
    watchRedis({ redis: create({ url, connectionName: name, commandTimeout_ms }), log, name: as })
  const main = connect(createRedis, REDIS_URL, 'redis')
  const forRevocation = REVOCATION_REDIS_URL ? connect(createRedis, REVOCATION_REDIS_URL, 'revocation') : main
  const forRates = RATE_REDIS_URL ? connect(createRedisOrCluster, RATE_REDIS_URL, 'rate') : main
  const watches = [...new Set([main, forRevocation, forRates])]
  const probing = setInterval(() => {
    for (const { redis, report } of watches.filter((watch) => watch !== forRevocation)) {
      const writes = PROBED_KEYS.map((key) => redis.set(key, '', 'PX', 2 * PROBE_EVERY_MS))
      Promise.all(writes).then(() => report(), report)
    }
  }, PROBE_EVERY_MS).unref()
  return {
    redis: main.redis,
    revocationRedis: forRevocation.redis,
    rateRedis: forRates.redis,
    watches,
    /** Takes the outcome of each tick of the revocations' lease. */
    reportTick: forRevocation.report,
    /** Waits up to a second. @throws ConfigError if a URL that names one server leads to a cluster. */
    async ready(): Promise<void> {
      await Promise.all(
        watches.map(async ({ redis }) => {
          const info = await redisReady(redis, READY_WITHIN_MS)
            .then(() => redis.info('server'))
            .catch(() => '')
          if (info.includes('redis_mode:cluster') && !redis.isCluster)
            throw new ConfigError('Only RATE_REDIS_URL may be a Redis Cluster, as redis+cluster://…')
        }),
      )
    },
    /** Returns `redis` if one of them cannot be used. */
    degraded: (): string[] => (watches.some(({ trouble }) => trouble() !== undefined) ? ['redis'] : []),
    close(): void {
      clearInterval(probing)
      for (const watch of watches) watch.close()
    },
  }
}
