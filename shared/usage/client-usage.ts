import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'
import { createUsageCounts } from './usage-counts.ts'

/* Tokens and refusals are counted in Postgres; the latest requests, with any refusal, are kept in Redis. */
const FLUSH_EVERY_MS = 2_000
/** No script may hold Redis up for long. */
const LOGS_PER_SCRIPT = 25

/** A wrong secret proves nothing about who sent it, so it is kept apart and cannot displace anything else. */
export const REFUSAL_KINDS = ['proven', 'unproven'] as const
type Kind = (typeof REFUSAL_KINDS)[number]
/** How many of a client's latest records are kept: refusals of each kind, and answered requests it sent. */
export const RECORDS_MAX: Record<Kind | 'answered', number> = { answered: 200, proven: 200, unproven: 50 }
/** A company may have this many Active clients, so as many times the records of a client are kept of it. */
const CLIENTS_PER_COMPANY = 100
/** How many logs of a company's clients are kept, by latest start: of the Active ones and as many revoked. */
const LOGS_PER_COMPANY = 2 * CLIENTS_PER_COMPANY
/** A process holds the records of about this many clients between two flushes. */
const CLIENTS_BUFFERED = 50

const TRIM = `
local function trim(order, max, forget)
  local excess = redis.call('zcard', order) - max
  if excess <= 0 then return end
  local oldest = redis.call('zpopmin', order, excess)
  for i = 1, #oldest, 2 do forget(oldest[i]) end
end`

/**
 * ARGV: the orders of a client and its company, the prefix of their records' keys, their life in ms, how
 * many are kept, then positions and records in turn. Orders are by position, so the oldest goes first.
 */
const WRITE_REFUSALS = `${TRIM}
local ofClient, ofCompany, prefix, life_ms, max = unpack(ARGV, 1, 5)
local function toKey(position) return prefix .. string.match(position, ' (.*)') end
for i = 6, #ARGV, 2 do
  redis.call('set', toKey(ARGV[i]), ARGV[i + 1], 'px', life_ms)
  redis.call('zadd', ofClient, 0, ARGV[i])
  redis.call('zadd', ofCompany, 0, ARGV[i])
end
trim(ofClient, max, function(position)
  redis.call('zrem', ofCompany, position)
  redis.call('del', toKey(position))
end)
trim(ofCompany, max * ${CLIENTS_PER_COMPANY}, function(position) redis.call('del', toKey(position)) end)
redis.call('pexpire', ofClient, life_ms)
redis.call('pexpire', ofCompany, life_ms)`

/** ARGV: the time, and JSON: for each client the keys of its log and its company's logs, then entries. */
const WRITE_LOGS = `${TRIM}
for _, log in ipairs(cjson.decode(ARGV[2])) do
  local length = redis.call('lpush', log[1], unpack(log, 3))
  if length > ${RECORDS_MAX.answered} then redis.call('ltrim', log[1], 0, ${RECORDS_MAX.answered - 1}) end
  redis.call('pexpire', log[1], ${redisLifetimes.requests_ms})
  if length == #log - 2 then
    redis.call('zadd', log[2], ARGV[1], log[1])
    trim(log[2], ${LOGS_PER_COMPANY}, function(key) redis.call('del', key) end)
    redis.call('pexpire', log[2], ${redisLifetimes.requestLogs_ms})
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

export function createClientUsage(parts: { redis: Redis; db: Database; clock: Clock; log: Log }) {
  const { redis, clock } = parts
  const counts = createUsageCounts(parts)
  let clients = new Map<string, Requests>()
  let buffered: typeof RECORDS_MAX = { answered: 0, proven: 0, unproven: 0 }
  let flushing: NodeJS.Timeout | undefined

  /** Keeps the newest of a client, as long as there is room. */
  function keep<T>(kind: keyof typeof RECORDS_MAX, list: T[], item: T): void {
    if (list.length >= RECORDS_MAX[kind]) list.shift()
    else if (buffered[kind] < RECORDS_MAX[kind] * CLIENTS_BUFFERED) buffered[kind] += 1
    else return
    list.push(item)
  }

  const flush = async () => {
    const requests = [...clients]
    // Without Redis they stay, up to the limits for a client and for all.
    const isReady = redis.status === 'ready'
    if (isReady) [clients, buffered] = [new Map(), { answered: 0, proven: 0, unproven: 0 }]
    await Promise.all([counts.flush(), isReady && writeRequests(redis, requests, clock.now())])
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
      // Anyone can send unproven requests, so they must not displace proven ones.
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
async function writeRequests(redis: Redis, clients: [string, Requests][], now_ms: number): Promise<void> {
  let logs: string[][] = []
  for (const [index, [clientId, { vendorId, answered, ...refused }]] of clients.entries()) {
    for (const kind of REFUSAL_KINDS.filter((refusal) => refused[refusal].length > 0)) {
      const orders = [redisKeys.refusals(kind, clientId), redisKeys.refusals(kind, vendorId)]
      const limits = [redisLifetimes.refusals_ms, RECORDS_MAX[kind]]
      const values = [...orders, redisKeys.refusal(vendorId, ''), ...limits, ...refused[kind].flat()]
      await redis.eval(WRITE_REFUSALS, 0, ...values).catch(() => {})
    }
    const keys = [redisKeys.requests(vendorId, clientId), redisKeys.requestLogs(vendorId)]
    if (answered.length > 0) logs.push([...keys, ...answered])
    if (logs.length < LOGS_PER_SCRIPT && index < clients.length - 1) continue
    await redis.eval(WRITE_LOGS, 0, now_ms, JSON.stringify(logs)).catch(() => {})
    logs = []
  }
}
