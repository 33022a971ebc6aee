import type { RedisOrCluster } from '#shared/stores/redis.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'
import { LOGS_PER_COMPANY, RECORDS_MAX } from '#shared/usage/client-usage.ts'
import { type RefusalRecord, readLatestRefusals } from './refusals.ts'

/** An entry as client-usage.ts writes it: time, request id, status, address, error code or `-`, and route. */
const LOG_ENTRY = /^(\d{1,15}) (\S+) (\d{3}) (\S+) (\S+) ([A-Z]+ \/\S*)$/

export interface LoggedRequest {
  at_ms: number
  requestId: string
  /** Method and path pattern. */
  route: string
  status: number
  address: string | null
  /** The error code in the answer. */
  code: string | null
  /** Its record if it was refused, which is kept for a day. */
  refusal: RefusalRecord | undefined
}

/**
 * Returns a client's requests, newest first. The log has no request that anyone could have sent, so that no
 * one who only knows the client id can push out the others. Such requests are added from the record of
 * refusals, as far back as the log goes. Requests from before `since_ms` may be missing: the log is full,
 * Redis lost its data, or it may have dropped this log for one of another client. In a cluster, a loss that
 * spared `requests:begin` is not noticed. `skipped` counts entries that this release cannot read.
 * @throws if Redis does not answer.
 */
export async function readRequestLog(
  redis: RedisOrCluster,
  {
    vendorId,
    clientId,
    createdAt_ms,
    now_ms,
  }: { vendorId: string; clientId: string; createdAt_ms: number; now_ms: number },
): Promise<{ requests: LoggedRequest[]; since_ms: number; skipped: number }> {
  const [texts, records, begin, [, latestStart]] = await Promise.all([
    redis.lrange(redisKeys.requests(vendorId, clientId), 0, RECORDS_MAX.answered - 1),
    readLatestRefusals(redis, { vendorId, clientId, now_ms }),
    // In a cluster it may be on a server that is away while this company's is there: then nothing is claimed.
    redis.get(redisKeys.requestsBegin).catch(() => null),
    redis.zrange(redisKeys.requestLogs(vendorId), `${LOGS_PER_COMPANY - 1}`, '-1', 'WITHSCORES'),
  ])
  const refusals = new Map(records.map((record) => [record.requestId, record]))
  const log = texts.map((text) => parseEntry(text, refusals)).filter((entry) => entry !== undefined)
  const logIds = new Set(log.map(({ requestId }) => requestId))
  const oldest_ms = Math.min(now_ms, ...log.map(({ at_ms }) => at_ms))
  const begin_ms = Number(begin) || now_ms
  const known_ms = Math.max(begin_ms > createdAt_ms ? begin_ms : 0, Number(latestStart ?? 0))
  const isFull = texts.length >= RECORDS_MAX.answered
  const logged_ms = isFull ? oldest_ms : now_ms - redisLifetimes.requests_ms
  const since_ms = isFull ? oldest_ms : Math.min(now_ms, Math.max(logged_ms, known_ms))
  // Entries that cannot be read may be as old as any.
  const skipped = texts.length - log.length
  const unproven = records
    .filter(({ at_ms, requestId }) => (at_ms >= logged_ms || skipped > 0) && !logIds.has(requestId))
    .map((refusal) => {
      const { at_ms, requestId, route, status, address = null, code } = refusal
      return { at_ms, requestId, route, status, address, code, refusal }
    })
  // Processes write their entries in batches, so the log is only nearly in order.
  const requests = [...log, ...unproven].sort((a, b) => b.at_ms - a.at_ms)
  return { requests, since_ms, skipped }
}

/** Keeps each script under a millisecond. */
const LOGS_PER_SCRIPT = 5

/** KEYS: logs of clients. ARGV: a request's id. Returns the log and the entry that has it. */
const FIND_ENTRY = `
local id = ' ' .. ARGV[1] .. ' '
for _, log in ipairs(KEYS) do
  for _, entry in ipairs(redis.call('lrange', log, 0, -1)) do
    if string.find(entry, id, 1, true) then return { log, entry } end
  end
end`

/**
 * Returns the request with this id from the logs of a company's clients. It takes up to 40 ms of Redis.
 * @throws if Redis does not answer.
 */
export async function findLoggedRequest(
  redis: RedisOrCluster,
  { vendorId, requestId }: { vendorId: string; requestId: string },
): Promise<(LoggedRequest & { clientId: string }) | undefined> {
  const logs = await redis.zrange(redisKeys.requestLogs(vendorId), '0', '-1')
  for (let from = 0; from < logs.length; from += LOGS_PER_SCRIPT) {
    const keys = logs.slice(from, from + LOGS_PER_SCRIPT)
    const found = (await redis.eval(FIND_ENTRY, keys.length, ...keys, requestId)) as string[] | null
    const [log = '', text = ''] = found ?? []
    const entry = parseEntry(text, new Map())
    if (entry?.requestId === requestId)
      return { ...entry, clientId: log.slice(redisKeys.requests(vendorId, '').length) }
  }
  return undefined
}

/** Returns undefined for an invalid entry: other services may share this Redis, and must not break a page. */
function parseEntry(text: string, refusals: ReadonlyMap<string, RefusalRecord>): LoggedRequest | undefined {
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
