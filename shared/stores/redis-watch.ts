import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#shared/process/log.ts'
import type { Redis } from './redis.ts'
import { redisKeys } from './redis-keys.ts'

const PROBE_EVERY_MS = 2_000
const REPEAT_EVERY_MS = 60_000
const REASON_MAX_CHARACTERS = 200

/** What both services constantly do in Redis: run a script that reads the marker. */
const PROBE = `return redis.call('get', ARGV[1])`

export interface RedisWatch {
  /** Why Redis cannot be used, in its own words; undefined while it can. */
  trouble(): string | undefined
  /** Whether a revocation marker was there at the last look: then Redis vouches for revocations. */
  vouches(): boolean
  /** Resolves when no question is open. */
  stop(): Promise<void>
}

/**
 * Checks every two seconds whether the server lets this process do its work. A server that refuses (wrong password, no
 * permission, TLS) or does not answer is logged with its own reason when that begins, each minute while it lasts,
 * and once when it ends.
 */
export function watchRedis({
  redis,
  log,
  name = 'redis',
  monotonic = () => performance.now(),
  probeEvery_ms = PROBE_EVERY_MS,
}: {
  redis: Redis
  log: Log
  /** For the log: which one, when there are two. */
  name?: string
  /** Milliseconds that only ever go forward. */
  monotonic?: () => number
  probeEvery_ms?: number
}): RedisWatch {
  const stopping = new AbortController()
  let connectionError: string | undefined
  let trouble: string | undefined
  let toldAt_ms = Number.NEGATIVE_INFINITY
  let vouches = false

  const onError = (error: Error & { code?: string }) => {
    connectionError = reasonOf(error)
  }
  const onReady = () => {
    connectionError = undefined
  }
  redis.on('error', onError)
  redis.on('ready', onReady)

  async function probe(): Promise<void> {
    try {
      const marker = await redis.eval(PROBE, 0, redisKeys.revocationMarker)
      vouches = marker !== null
      tell(undefined)
    } catch (error) {
      vouches = false
      // Without a connection the command's own failure says nothing; the reason was logged before.
      tell(isReply(error) ? reasonOf(error as Error) : (connectionError ?? reasonOf(error as Error)))
    }
  }

  function tell(reason: string | undefined): void {
    const now_ms = monotonic()
    const news = reason !== trouble
    if (reason === undefined) {
      if (news) log.info({ event: 'redis.usable', redis: name }, 'Redis can be used again')
    } else if (news || now_ms - toldAt_ms >= REPEAT_EVERY_MS) {
      toldAt_ms = now_ms
      log.warn({ event: 'redis.unusable', redis: name, reason }, 'Redis cannot be used')
    }
    trouble = reason
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      // A connection that has only begun is not yet a failure.
      if (redis.status !== 'connecting' && redis.status !== 'connect') await probe()
      await sleep(probeEvery_ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
  }

  const running = run()
  return {
    trouble: () => trouble,
    vouches: () => vouches,
    stop() {
      stopping.abort()
      redis.off('error', onError)
      redis.off('ready', onReady)
      return running
    },
  }
}

const isReply = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError'

/** Redis never puts a password into its errors. If several addresses failed, the first error stands for all. */
function reasonOf(error: Error & { code?: string; errors?: Error[] }): string {
  const message = error.message || error.errors?.[0]?.message || error.code || error.name
  return message.slice(0, REASON_MAX_CHARACTERS)
}
