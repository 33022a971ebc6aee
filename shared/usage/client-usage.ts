import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RedisOrCluster } from '#shared/stores/redis.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'
import { createUsageCounts } from './usage-counts.ts'

/* Tokens and refusals are counted in Postgres; the latest requests, with any refusal, are kept in Redis. */
const FLUSH_EVERY_MS = 2_000
/** No script may hold Redis up for long. In a cluster, each client has its own, and as many run at once. */
const LOGS_PER_SCRIPT = 25

/** A wrong secret proves nothing about who sent it, so it is kept apart and cannot displace anything else. */
export const REFUSAL_KINDS = ['proven', 'unproven'] as const
type Kind = (typeof REFUSAL_KINDS)[number]
/** How many of a client's latest records are kept: refusals of each kind, and answered requests it sent. */
export const RECORDS_MAX: Record<Kind | 'answered', number> = { answered: 200, proven: 200, unproven: 50 }
/** Beyond that, the client with most of a company loses its oldest, or the company, if no client has two. */
const COMPANY_REFUSALS_MAX: Record<Kind, number> = { proven: 1_600, unproven: 400 }
/** How many logs of a company's clients are kept, by latest start: 100 can be Active, and as many revoked. */
export const LOGS_PER_COMPANY = 200
/** A process holds the records of about this many clients between two flushes. */
const CLIENTS_BUFFERED = 50

/**
 * KEYS: the order of a company, and the counts of its clients. ARGV: the prefix of the records' keys, the
 * client, the records' life in ms, how many are kept of a client and of the company, the position from which
 * records still live, then positions and records in turn. Orders are by position, so the oldest goes first.
 */
const WRITE_REFUSALS = `
local company, counts = unpack(KEYS)
local prefix, writer, life_ms, client_max, company_max, oldest = unpack(ARGV, 1, 6)
local function toKey(position) return prefix .. string.match(position, ' (.*)') end
local function forgetOldest(client, excess)
  local order = company .. client
  local popped = excess > 0 and redis.call('zpopmin', order, excess) or {}
  for i = 1, #popped, 2 do
    redis.call('zrem', company, popped[i])
    redis.call('del', toKey(popped[i]))
  end
  redis.call('zadd', counts, redis.call('zcard', order), client)
end
for i = 7, #ARGV, 2 do
  redis.call('set', toKey(ARGV[i]), ARGV[i + 1], 'px', life_ms)
  redis.call('zadd', company .. writer, 0, ARGV[i])
  redis.call('zadd', company, 0, ARGV[i])
end
forgetOldest(writer, redis.call('zcard', company .. writer) - client_max)
redis.call('zremrangebylex', company, '-', '(' .. oldest)
for _ = 1, 1000 do
  if redis.call('zcard', company) <= tonumber(company_max) then break end
  local most = redis.call('zrange', counts, -1, -1, 'withscores')
  if tonumber(most[2]) > 1 then forgetOldest(most[1], 1)
  else redis.call('del', toKey(redis.call('zpopmin', company)[1])) end
end
redis.call('zremrangebyrank', counts, 0, -1 - company_max)
for _, key in ipairs({ company, company .. writer, counts }) do redis.call('pexpire', key, life_ms) end`

/** KEYS: in turn the log of a client and its company's logs. ARGV: the time, then JSON: entries by client. */
const WRITE_LOGS = `
for i, entries in ipairs(cjson.decode(ARGV[2])) do
  local log, logs = KEYS[2 * i - 1], KEYS[2 * i]
  local length = redis.call('lpush', log, unpack(entries))
  if length > ${RECORDS_MAX.answered} then redis.call('ltrim', log, 0, ${RECORDS_MAX.answered - 1}) end
  redis.call('pexpire', log, ${redisLifetimes.requests_ms})
  if length == #entries then
    redis.call('zadd', logs, ARGV[1], log)
    local oldest = redis.call('zrange', logs, 0, -1 - ${LOGS_PER_COMPANY})
    for _, key in ipairs(oldest) do redis.call('del', key) end
    if #oldest > 0 then redis.call('zrem', logs, unpack(oldest)) end
    redis.call('pexpire', logs, ${redisLifetimes.requestLogs_ms})
  end
end`

/** A request of a known client that was answered. Nothing in it was sent by the caller, but for `about`. */
export interface AnsweredRequest {
  clientId: string
  vendorId: string
  /** Whether the request certainly came from the client: its secret or its token's signature was right. */
  proven: boolean
  /** Not longer than 64 characters, and without a space or a colon. */
  requestId: string
  /** Method and path pattern, such as `POST /v1/oauth/token`. */
  route: string
  status: number
  address: string
  code?: string | undefined
  /** Why the client was refused, in one word of the service's own. */
  reason?: string | undefined
  /** What the reason is about: a scope, names of fields, or a signed claim, in at most 170 characters. */
  about?: string | undefined
}

/** A record's place in an order: by time, then by id. Compared as text. */
export const refusalPosition = (at_ms: number, requestId = ''): string =>
  `${String(at_ms).padStart(16, '0')} ${requestId}`

/** A client's requests since the last flush, oldest first. A refusal: its position and its JSON record. */
type Requests = { vendorId: string; answered: string[] } & Record<Kind, [string, string][]>

export type ClientUsage = ReturnType<typeof createClientUsage>

export function createClientUsage(parts: { redis: RedisOrCluster; db: Database; clock: Clock; log: Log }) {
  const { redis, clock } = parts
  const counts = createUsageCounts(parts)
  let clients = new Map<string, Requests>()
  let buffered: typeof RECORDS_MAX = { answered: 0, proven: 0, unproven: 0 }
  let flushing: NodeJS.Timeout | undefined
  let written = Promise.resolve()

  /** Keeps the newest of a client, as long as there is room. */
  function keep<T>(kind: keyof typeof RECORDS_MAX, list: T[], item: T): void {
    if (list.length >= RECORDS_MAX[kind]) list.shift()
    else if (buffered[kind] < RECORDS_MAX[kind] * CLIENTS_BUFFERED) buffered[kind] += 1
    else return
    list.push(item)
  }

  const flush = async () => {
    // In turn, so that a stop waits for each. Without Redis they stay, up to the limits above.
    written = written.then(() => {
      if (redis.status !== 'ready') return
      const requests = clients
      ;[clients, buffered] = [new Map(), { answered: 0, proven: 0, unproven: 0 }]
      return writeRequests(redis, requests, clock.now())
    })
    await Promise.all([counts.flush(), written])
  }

  return {
    countToken: counts.countToken,
    /** Records an answered request of a known client. Synchronous; never throws. */
    recordRequest(request: AnsweredRequest): void {
      const { vendorId, proven, ...answer } = request
      const { clientId, requestId, route, status, address, code, reason } = answer
      const requests = clients.get(clientId) ?? { vendorId, answered: [], proven: [], unproven: [] }
      clients.set(clientId, requests)
      const at_ms = clock.now()
      const entry = `${at_ms} ${requestId} ${status} ${address} ${code ?? '-'} ${route}`
      if (proven) keep('answered', requests.answered, entry)
      if (code === undefined || reason === undefined) return
      counts.countRefusal(clientId)
      const kind = proven ? 'proven' : 'unproven'
      keep(kind, requests[kind], [refusalPosition(at_ms, requestId), JSON.stringify({ at_ms, ...answer })])
    },
    flush,
    /** Announces this process in Postgres. @throws if it cannot be written. */
    async start(): Promise<void> {
      await counts.announce()
      flushing = setInterval(flush, FLUSH_EVERY_MS).unref()
    },
    async stop(): Promise<void> {
      clearInterval(flushing)
      await flush()
      await counts.stop()
    },
  }
}

/** Never rejects. What Redis does not confirm is dropped, since it may have taken it. */
async function writeRequests(redis: RedisOrCluster, clients: Map<string, Requests>, now_ms: number) {
  await redis.set(redisKeys.requestsBegin, now_ms, 'NX').catch(() => {})
  const oldest = refusalPosition(now_ms - redisLifetimes.refusals_ms)
  const logs: [keys: string[], entries: string[]][] = []
  for (const [clientId, { vendorId, answered, ...refused }] of clients) {
    for (const kind of REFUSAL_KINDS.filter((refusal) => refused[refusal].length > 0)) {
      const keys = [redisKeys.refusals(kind, vendorId), redisKeys.refusalCounts(kind, vendorId)]
      const limits = [redisLifetimes.refusals_ms, RECORDS_MAX[kind], COMPANY_REFUSALS_MAX[kind], oldest]
      const values = [redisKeys.refusal(vendorId, ''), clientId, ...limits, ...refused[kind].flat()]
      await redis.eval(WRITE_REFUSALS, keys.length, ...keys, ...values).catch(() => {})
    }
    const keys = [redisKeys.requests(vendorId, clientId), redisKeys.requestLogs(vendorId)]
    if (answered.length > 0) logs.push([keys, answered])
  }
  while (logs.length > 0) {
    const next = logs.splice(0, LOGS_PER_SCRIPT)
    const scripts = (redis.isCluster ? next.map((log) => [log]) : [next]).map((group) => {
      const entries = JSON.stringify(group.map((log) => log[1]))
      return redis.eval(WRITE_LOGS, 2 * group.length, ...group.flatMap(([keys]) => keys), now_ms, entries)
    })
    await Promise.allSettled(scripts)
  }
}
