import type { ChainableCommander, Redis } from 'ioredis'
import type { Clock } from '#shared/process/clock.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'

/*
 * Why requests of known clients were refused, for their company to look up by request id. Kept in Redis for a
 * day and bounded for each client; losing some of it harms nobody, and writing it never delays a request.
 */

const MINUTE_MS = 60_000
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
  about?: string
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
      const pipeline = redis.pipeline()
      const now_ms = clock.now()
      for (const [clientId, noted] of clients) write(pipeline, clientId, noted, now_ms)
      clients = new Map()
      await pipeline.exec().catch(() => {})
    },
  }
}

function write(
  pipeline: ChainableCommander,
  clientId: string,
  { vendorId, times, proven, unproven }: Noted,
  now_ms: number,
): void {
  const life_ms = redisLifetimes.refusals_ms
  for (const [key, records, max] of [
    [redisKeys.refusals(clientId), proven, REFUSALS_MAX],
    [redisKeys.unprovenRefusals(clientId), unproven, UNPROVEN_MAX],
  ] as const) {
    if (records.length === 0) continue
    pipeline.lpush(key, ...records)
    pipeline.ltrim(key, 0, max - 1)
    pipeline.pexpire(key, life_ms)
  }
  const index = redisKeys.refusedClients(vendorId)
  pipeline.zadd(index, now_ms, clientId)
  pipeline.zremrangebyscore(index, 0, now_ms - life_ms)
  pipeline.zremrangebyrank(index, 0, -REFUSED_CLIENTS_MAX - 1)
  pipeline.pexpire(index, life_ms)
  pipeline.hincrby(redisKeys.usagePending, `${clientId}|r|${Math.floor(now_ms / MINUTE_MS)}`, times)
}
