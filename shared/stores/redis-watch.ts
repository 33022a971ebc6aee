import type { Log } from '#shared/process/log.ts'
import { createRedis, type Redis } from './redis.ts'
import { redisKeys } from './redis-keys.ts'

const PROBE_EVERY_MS = 2_000
const REPEAT_EVERY_MS = 60_000
const REASON_MAX_CHARACTERS = 200

/** What both services constantly do in Redis: run a script that reads the marker. */
const PROBE = `return redis.call('get', ARGV[1])`

/**
 * Checks every two seconds whether the server lets this process do its work. A server that refuses (wrong password, no
 * permission, TLS) or does not answer is logged with its own reason when that begins, each minute while it lasts,
 * and once when it ends.
 */
export function watchRedis({
  redis,
  log,
  name = 'redis',
  probeEvery_ms = PROBE_EVERY_MS,
}: {
  redis: Redis
  log: Log
  /** For logs and metrics: which one, when there are two. */
  name?: string
  probeEvery_ms?: number
}) {
  let connectionError: string | undefined
  let trouble: string | undefined
  let loggedAt_ms = Number.NEGATIVE_INFINITY
  let marker: unknown
  let stopped = false

  redis.on('error', (error: Error) => {
    connectionError = reasonOf(error)
  })
  redis.on('ready', () => {
    connectionError = undefined
  })

  async function probe(): Promise<void> {
    // A connection that has only begun is not yet a failure.
    if (redis.status === 'connecting' || redis.status === 'connect') return
    const answer = await redis.eval(PROBE, 0, redisKeys.revocationMarker).catch((error: Error) => error)
    if (stopped) return
    marker = answer instanceof Error ? null : answer
    if (!(answer instanceof Error)) report(undefined)
    // Without a connection the command's own failure says nothing; the connection's was noted before.
    else report((answer.name === 'ReplyError' ? undefined : connectionError) ?? reasonOf(answer))
  }

  function report(reason: string | undefined): void {
    const now_ms = performance.now()
    if (reason === undefined) {
      if (trouble !== undefined) log.info({ event: 'redis.usable', redis: name }, 'Redis can be used again')
    } else if (reason !== trouble || now_ms - loggedAt_ms >= REPEAT_EVERY_MS) {
      loggedAt_ms = now_ms
      log.warn({ event: 'redis.unusable', redis: name, reason }, 'Redis cannot be used')
    }
    trouble = reason
  }

  void probe()
  const timer = setInterval(() => void probe(), probeEvery_ms).unref()
  return {
    name,
    /** Why Redis cannot be used, in its own words; undefined while it can. */
    trouble: () => trouble,
    /** Whether a revocation marker was there at the last look: then Redis vouches for revocations. */
    vouches: () => typeof marker === 'string',
    stop(): void {
      stopped = true
      clearInterval(timer)
    },
  }
}

/** Redis never puts a password into its errors. If several addresses failed, the first error stands for all. */
function reasonOf(error: Error & { code?: string; errors?: Error[] }): string {
  const message = error.message || error.errors?.[0]?.message || error.code || error.name
  return message.slice(0, REASON_MAX_CHARACTERS)
}

export type RedisConnections = ReturnType<typeof connectRedis>

/**
 * A process's connections to Redis, each watched: one for revocations, which may be the same as the other.
 * @param name shown in `CLIENT LIST`.
 */
export function connectRedis(
  { REDIS_URL, REVOCATION_REDIS_URL }: { REDIS_URL: string; REVOCATION_REDIS_URL?: string | undefined },
  { name, log }: { name: string; log: Log },
) {
  const connect = (url: string, as: string) => {
    const redis = createRedis({ url, connectionName: name })
    return { redis, watch: watchRedis({ redis, log, name: as }) }
  }
  const main = connect(REDIS_URL, 'redis')
  const forRevocation = REVOCATION_REDIS_URL ? connect(REVOCATION_REDIS_URL, 'revocation') : main
  const all = [...new Set([main, forRevocation])]
  return {
    redis: main.redis,
    revocationRedis: forRevocation.redis,
    watches: all.map(({ watch }) => watch),
    revocationWatch: forRevocation.watch,
    /** @returns `redis` if one of them cannot be used. */
    degraded: (): string[] => (all.some(({ watch }) => watch.trouble() !== undefined) ? ['redis'] : []),
    close(): void {
      for (const { redis, watch } of all) {
        watch.stop()
        redis.disconnect()
      }
    },
  }
}
