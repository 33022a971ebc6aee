import type { Clock } from '#shared/process/clock.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'

/*
 * Which clients were used, how often and when last. The authorization server may not write that to Postgres, so it
 * counts in its memory, adds the counts to a hash in Redis about each second, and the resource API moves that to
 * Postgres every so often. Losing some of it is allowed; disturbing a request for it is not.
 *
 * The hash has two kinds of field:
 *   `{client_id}|{hour}`  tokens issued in that hour; the hour is counted from the Unix epoch
 *   `{client_id}|last`    when the client was last used, in milliseconds since the Unix epoch
 */

const FLUSH_EVERY_MS = 1_000
const HOUR_MS = 3_600_000
const CLIENTS_PER_CALL = 1_000

/** ARGV: hour, time, then client id and count by turns. One call, so that a process costs Redis little. */
const ADD = `
for i = 3, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[i] .. '|' .. ARGV[1], ARGV[i + 1])
  redis.call('HSET', KEYS[1], ARGV[i] .. '|last', ARGV[2])
end`

export interface UsageCounter {
  /** Counts one issued token. Takes no time and cannot fail. */
  count(clientId: string): void
  /** Adds what was counted to Redis. Never rejects; counts that Redis takes but does not confirm are dropped. */
  flush(): Promise<void>
  /** Flushes about each second from now on. */
  start(): void
  /** Ends that, and flushes a last time. */
  close(): Promise<void>
}

export function createUsageCounter({ redis, clock }: { redis: Redis; clock: Clock }): UsageCounter {
  let counts = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined

  async function flush(): Promise<void> {
    // Counts wait in memory while Redis is away: there is at most one for each client.
    if (counts.size === 0 || redis.status !== 'ready') return
    const pairs = [...counts]
    counts = new Map()
    const now = clock.now()
    for (let from = 0; from < pairs.length; from += CLIENTS_PER_CALL) {
      const chunk = pairs.slice(from, from + CLIENTS_PER_CALL).flat()
      const times = [Math.floor(now / HOUR_MS), now]
      await redis.eval(ADD, 1, redisKeys.usagePending, ...times, ...chunk).catch(() => {})
    }
  }

  return {
    count(clientId) {
      counts.set(clientId, (counts.get(clientId) ?? 0) + 1)
    },
    flush,
    start() {
      timer = setInterval(() => void flush(), FLUSH_EVERY_MS).unref()
    },
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}
