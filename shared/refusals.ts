import type { Redis } from 'ioredis'
import type { Clock } from '#shared/process/clock.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'

/*
 * Why requests of known clients were refused, for their company to look up by request id. Kept in Redis for a
 * day and bounded for each client; losing some of it harms nobody, and writing it never delays a request.
 */

const MINUTE_MS = 60_000
/** What one script writes at once: a flood over many clients takes few commands, and none of them takes long. */
const CLIENTS_A_COMMAND = 50
/**
 * ARGV: the time and the life of a record in ms, the hash of pending usage, the most clients of a company; then for each
 * client its id, its company's index, its field of pending usage and how often it was refused, and twice a list's
 * key, its greatest length, the number of new records, and those.
 */
const NOTE = `
local now, life, pending, clients_max = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local at = 5
while ARGV[at] do
  local client, index, field, times = unpack(ARGV, at, at + 3)
  at = at + 4
  for _ = 1, 2 do
    local list, max, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
    at = at + 3 + count
    if count > 0 then
      redis.call('lpush', list, unpack(ARGV, at - count, at - 1))
      redis.call('ltrim', list, 0, max - 1)
      redis.call('pexpire', list, life)
    end
  end
  redis.call('zadd', index, now, client)
  redis.call('zremrangebyscore', index, 0, now - life)
  redis.call('zremrangebyrank', index, 0, -clients_max - 1)
  redis.call('pexpire', index, life)
  redis.call('hincrby', pending, field, times)
end`
/** Clients that one process notes between two flushes. */
const CLIENTS_MAX = 1_000
/** Of one company: those refused last. As many as it may have Active ones. */
export const REFUSED_CLIENTS_MAX = 100
/** Of one client: the newest ones. */
export const REFUSALS_MAX = 200
/** Of one client, what anyone who knows its id can cause: kept apart, so it cannot displace anything else. */
export const UNPROVEN_MAX = 50

export interface RefusedRequest {
  clientId: string
  vendorId: string
  /** Whether the request certainly came from the client: its secret matched, or its token's signature was right. */
  proven: boolean
  requestId: string
  /** Method and path pattern, such as `POST /v1/oauth/token`. */
  route: string
  status: number
  /** The error code that was answered. */
  code: string
  /** Why, in one word of the service's own. Never anything that was sent. */
  reason: string
  /** What the reason is about: a scope, or the names of fields. Never a value that was sent. */
  about?: string | undefined
}

/** As it is kept. */
export type RefusalRecord = Omit<RefusedRequest, 'clientId' | 'vendorId' | 'proven'> & { at_ms: number }

interface Noted {
  vendorId: string
  times: number
  proven: string[]
  unproven: string[]
}

export type Refusals = ReturnType<typeof createRefusals>

export function createRefusals({ redis, clock }: { redis: Redis; clock: Clock }) {
  let clients = new Map<string, Noted>()
  return {
    /** Notes a refused request. Takes no time and cannot fail. */
    note({ clientId, vendorId, proven, ...request }: RefusedRequest): void {
      let noted = clients.get(clientId)
      if (!noted) {
        if (clients.size >= CLIENTS_MAX) return
        noted = { vendorId, times: 0, proven: [], unproven: [] }
        clients.set(clientId, noted)
      }
      noted.times += 1
      const [records, max] = proven ? [noted.proven, REFUSALS_MAX] : [noted.unproven, UNPROVEN_MAX]
      const record: RefusalRecord = { ...request, at_ms: clock.now() }
      records.push(JSON.stringify(record))
      if (records.length > max) records.shift()
    },
    /** Writes what was noted to Redis: to be called about each second. Never rejects; what Redis refuses is dropped. */
    async flush(): Promise<void> {
      if (clients.size === 0 || redis.status !== 'ready') return
      const now_ms = clock.now()
      const noted = [...clients]
      clients = new Map()
      const common = [now_ms, redisLifetimes.refusals_ms, redisKeys.usagePending, REFUSED_CLIENTS_MAX]
      const commands: Promise<unknown>[] = []
      for (let from = 0; from < noted.length; from += CLIENTS_A_COMMAND) {
        const some = noted.slice(from, from + CLIENTS_A_COMMAND)
        commands.push(redis.eval(NOTE, 0, ...common, ...some.flatMap((one) => argumentsFor(one, now_ms))))
      }
      await Promise.allSettled(commands)
    },
  }
}

/** Of one client, as NOTE takes it. */
function argumentsFor(
  [clientId, { vendorId, times, proven, unproven }]: [string, Noted],
  now_ms: number,
): (string | number)[] {
  const field = `${clientId}|r|${Math.floor(now_ms / MINUTE_MS)}`
  return [
    ...[clientId, redisKeys.refusedClients(vendorId), field, times],
    ...[redisKeys.refusals(clientId), REFUSALS_MAX, proven.length, ...proven],
    ...[redisKeys.unprovenRefusals(clientId), UNPROVEN_MAX, unproven.length, ...unproven],
  ]
}
