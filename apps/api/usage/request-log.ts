import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { KEPT_MAX } from '#shared/usage/client-usage.ts'
import { listPositions, type RefusalRecord, readRefusals } from './refusals.ts'

/** Matches what client-usage.ts writes: time, request id, status, address, error code or `-`, and route. */
const LOG_ENTRY = /^(\d{1,15}) (\S+) (\d{3}) (\S+) (\S+) ([A-Z]+ \/\S*)$/

export interface RequestOfClient {
  at_ms: number
  requestId: string
  /** Method and path pattern. */
  route: string
  status: number
  address: string | null
  /** The error code that was answered. */
  code: string | null
  /** What the record of refusals has of it, which it keeps for a day. */
  refusal: RefusalRecord | undefined
}

/**
 * Returns a client's log, newest first. Nothing in it can be pushed out by someone who only knows the client's id, so it
 * lacks what anyone could have sent. That is added from the record of refusals, as far back as the log goes.
 * `skipped` counts the entries that this release cannot read.
 * @throws if Redis does not answer.
 */
export async function readRequestLog(
  redis: Redis,
  { vendorId, clientId, now_ms }: { vendorId: string; clientId: string; now_ms: number },
): Promise<{ requests: RequestOfClient[]; skipped: number }> {
  const limit = KEPT_MAX.proven + KEPT_MAX.unproven
  const [texts, refused] = await Promise.all([
    redis.lrange(redisKeys.requests(vendorId, clientId), 0, KEPT_MAX.answered - 1),
    listPositions(redis, { of: clientId, after: undefined, limit, now_ms }),
  ])
  const requestIds = refused.map(([, requestId]) => requestId)
  const records = await readRefusals(redis, { vendorId, requestIds, now_ms })
  const refusals = new Map(records.map((record) => [record.requestId, record]))
  const logged = texts.map((text) => parsed(text, refusals)).filter((one) => one !== undefined)
  const known = new Set(logged.map(({ requestId }) => requestId))
  const from_ms = logged.length < KEPT_MAX.answered ? 0 : Math.min(...logged.map(({ at_ms }) => at_ms))
  const others = records.filter(({ at_ms, requestId }) => at_ms >= from_ms && !known.has(requestId))
  const added = others.map((refusal) => {
    const { at_ms, requestId, route, status, address = null, code } = refusal
    return { at_ms, requestId, route, status, address, code, refusal }
  })
  // Each process writes what it answered, so the list is only nearly in order.
  const requests = [...logged, ...added].sort((a, b) => b.at_ms - a.at_ms)
  return { requests, skipped: texts.length - logged.length }
}

/** Other services may share this Redis. Nothing that they may have written there must break a page. */
function parsed(text: string, refusals: ReadonlyMap<string, RefusalRecord>): RequestOfClient | undefined {
  const [, at_ms, requestId = '', status, address = '', code = '', route = ''] = LOG_ENTRY.exec(text) ?? []
  if (at_ms === undefined) return undefined
  return {
    at_ms: Number(at_ms),
    requestId,
    route,
    status: Number(status),
    address,
    code: code === '-' ? null : code,
    refusal: refusals.get(requestId),
  }
}
