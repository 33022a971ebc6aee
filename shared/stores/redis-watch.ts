import { ConfigError } from '#shared/process/config.ts'
import type { Log } from '#shared/process/log.ts'
import { createRedis, type Redis } from './redis.ts'
import { redisReady } from './redis-ready.ts'

const PROBE_EVERY_MS = 2_000
const REPEAT_EVERY_MS = 60_000
const REASON_MAX_CHARACTERS = 200
/** A service starts without Redis after this. */
const READY_WITHIN_MS = 1_000

export type RedisWatch = ReturnType<typeof watchRedis>

/**
 * Tracks whether the server lets this process do its work. A server that refuses (wrong password, no
 * permission, TLS) or does not answer is logged with its own reason when that begins, each minute while it
 * lasts, and once when it ends.
 */
export function watchRedis({ redis, log, name }: { redis: Redis; log: Log; name: string }) {
  let trouble: string | undefined
  let closed = false
  let loggedAt_ms = Number.NEGATIVE_INFINITY

  /** Redis never puts a password into its errors. If several addresses failed, reports the first error. */
  function report(error?: Error & { code?: string; errors?: Error[] }): void {
    if (closed) return
    const text = error && (error.message || error.errors?.[0]?.message || error.code || error.name)
    const reason = text?.slice(0, REASON_MAX_CHARACTERS)
    const now_ms = performance.now()
    if (reason === undefined) {
      if (trouble !== undefined) log.info({ event: 'redis.usable', redis: name }, 'Redis can be used again')
    } else if (reason !== trouble || now_ms - loggedAt_ms >= REPEAT_EVERY_MS) {
      loggedAt_ms = now_ms
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

/**
 * A process's connections to Redis, each watched: one for revocations, which may be the same. Its
 * watch waits for reports of the lease's ticks; a second server is probed. `name`: as in `CLIENT LIST`.
 */
export function connectRedis(
  { REDIS_URL, REVOCATION_REDIS_URL }: { REDIS_URL: string; REVOCATION_REDIS_URL?: string | undefined },
  { name, log }: { name: string; log: Log },
) {
  const connect = (url: string, as: string) =>
    watchRedis({ redis: createRedis({ url, connectionName: name }), log, name: as })
  const main = connect(REDIS_URL, 'redis')
  const forRevocation = REVOCATION_REDIS_URL ? connect(REVOCATION_REDIS_URL, 'revocation') : main
  const watches = [...new Set([main, forRevocation])]
  const probe = () => {
    if (main.redis.status === 'ready') main.redis.eval('return 1', 0).then(() => main.report(), main.report)
  }
  const probing = watches.length > 1 ? setInterval(probe, PROBE_EVERY_MS).unref() : undefined
  return {
    redis: main.redis,
    revocationRedis: forRevocation.redis,
    watches,
    /** Takes the outcome of each tick of the revocations' lease. */
    reportTick: forRevocation.report,
    /**
     * Waits up to a second for the servers.
     * @throws ConfigError if one belongs to Redis Cluster, which refuses scripts on keys of several servers.
     */
    async ready(): Promise<void> {
      await Promise.all(
        watches.map(async ({ redis }) => {
          const info = await redisReady(redis, READY_WITHIN_MS)
            .then(() => redis.info('server'))
            .catch(() => '')
          if (info.includes('redis_mode:cluster'))
            throw new ConfigError('Redis Cluster is not supported: use a standalone server or Sentinel.')
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
