import type { Clock } from '#shared/process/clock.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'

/*
 * What clients did: the tokens that they got, counted by time, scope and address; their latest requests; and those that
 * were refused, counted and, for a day, kept with the reason. It waits in memory and is written to Redis about every
 * second; the resource API moves the counts to Postgres (apps/api/clients/pending-usage.ts lists the fields). Losing any
 * of it is acceptable; delaying a request for it is not.
 */

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Addresses kept for a client between two flushes. */
const ADDRESSES_MAX = 20
/** Fields and requests that one script writes, or one client more: none may hold Redis up for long. */
const SIZE_OF_COMMAND = 500

/** A wrong secret proves nothing about who sent it, so it is kept apart and cannot displace anything else. */
export const REFUSAL_KINDS = ['proven', 'unproven'] as const
type Kind = (typeof REFUSAL_KINDS)[number]
/** The newest of a client that are kept: refusals of each kind, and all answered requests that certainly came from it. */
export const KEPT_MAX: Record<Kind | 'answered', number> = { answered: 200, proven: 200, unproven: 50 }
/** How many times as many are kept of a company: it may have this many Active clients. */
const CLIENTS_OF_COMPANY = 100
/** The logs of a company's clients that are kept: those that began last. As many again may be revoked by now. */
const LOGS_OF_COMPANY = 2 * CLIENTS_OF_COMPANY
/** How many times as many one process holds between two flushes. */
const CLIENTS_WAITING = 50

/**
 * ARGV: the hash of pending usage, the life of a refusal in ms, and JSON: `counts`, fields and numbers in turn; `seen`,
 * the fields that get the time `now_ms`; `refused`, for each client and kind the keys of its order and its company's, how
 * many each may hold, what the keys of the records begin with, and the records, each a position and a text; `answered`,
 * for each client the keys of its log and of its company's logs, then the entries, oldest first. One script, so that no
 * count is stored without its time. Orders are by position alone, so the first to go is the oldest. The logs come last:
 * a Redis user without the right to write them loses nothing else.
 */
const WRITE = `
local pending, life, notes = ARGV[1], ARGV[2], cjson.decode(ARGV[3])
local function trim(order, max, forget)
  local excess = redis.call('zcard', order) - max
  if excess <= 0 then return end
  local oldest = redis.call('zpopmin', order, excess)
  for i = 1, #oldest, 2 do forget(oldest[i]) end
end
for i = 1, #notes.counts, 2 do redis.call('hincrby', pending, notes.counts[i], notes.counts[i + 1]) end
local seen = {}
for i, field in ipairs(notes.seen) do seen[2 * i - 1], seen[2 * i] = field, notes.now_ms end
if #seen > 0 then redis.call('hset', pending, unpack(seen)) end
for _, list in ipairs(notes.refused) do
  local function keyOf(position) return list.records .. string.match(position, ' (.*)') end
  for _, record in ipairs(list.noted) do
    redis.call('set', keyOf(record[1]), record[2], 'px', life)
    redis.call('zadd', list.ofClient, 0, record[1])
    redis.call('zadd', list.ofCompany, 0, record[1])
  end
  trim(list.ofClient, list.max, function(position)
    redis.call('zrem', list.ofCompany, position)
    redis.call('del', keyOf(position))
  end)
  trim(list.ofCompany, list.maxOfCompany, function(position) redis.call('del', keyOf(position)) end)
  redis.call('pexpire', list.ofClient, life)
  redis.call('pexpire', list.ofCompany, life)
end
for _, log in ipairs(notes.answered) do
  local ofClient, ofCompany = log[1], log[2]
  local length = redis.call('lpush', ofClient, unpack(log, 3))
  if length > ${KEPT_MAX.answered} then redis.call('ltrim', ofClient, 0, ${KEPT_MAX.answered - 1}) end
  redis.call('pexpire', ofClient, ${redisLifetimes.requests_ms})
  if length == #log - 2 then
    redis.call('zadd', ofCompany, notes.now_ms, ofClient)
    trim(ofCompany, ${LOGS_OF_COMPANY}, function(key) redis.call('del', key) end)
    redis.call('pexpire', ofCompany, ${redisLifetimes.requestLogs_ms})
  end
end`

/** A request of a known client that was answered. */
export interface AnsweredRequest {
  clientId: string
  vendorId: string
  /** Whether the request certainly came from the client: its secret matched, or its token's signature was right. */
  proven: boolean
  /** Not longer than 64 characters, and without a space or a colon. */
  requestId: string
  /** Method and path pattern, such as `POST /v1/oauth/token`. Never the path or the query that was sent. */
  route: string
  status: number
  /** Where it came from. */
  address: string
  /** The error code that was answered. */
  code?: string | undefined
  /** Why the client was refused, in one word of the service's own. Never anything that was sent. */
  reason?: string | undefined
  /** What the reason is about: a scope, or the names of fields. Never a value that was sent. */
  about?: string | undefined
}

/** A refused request as Redis keeps it, in JSON. `at_ms` is in milliseconds since the Unix epoch. */
export type RefusalRecord = Omit<AnsweredRequest, 'vendorId' | 'proven' | 'address'> &
  Record<'code' | 'reason', string> & { at_ms: number; address?: string | undefined }

/** A record's place in an order: by time, then by id. Compared as text. */
export const refusalPosition = (at_ms: number, requestId = ''): string =>
  `${String(at_ms).padStart(16, '0')} ${requestId}`

/** What a client did since the last flush. */
interface Use {
  tokens: number
  /** As requested: several, separated by spaces. */
  scopes: Set<string>
  addresses: Map<string, number>
  refused: number
  vendorId: string
  /** Oldest first. */
  records: Record<Kind, RefusalRecord[]> & { answered: { at_ms: number; request: AnsweredRequest }[] }
}

export type ClientUsage = ReturnType<typeof createClientUsage>

export function createClientUsage({ redis, clock }: { redis: Redis; clock: Clock }) {
  let uses = new Map<string, Use>()
  let waiting: typeof KEPT_MAX = { answered: 0, proven: 0, unproven: 0 }

  function entryOf(clientId: string): Use {
    const known = uses.get(clientId)
    if (known) return known
    const records = { answered: [], proven: [], unproven: [] }
    const use: Use = { tokens: 0, scopes: new Set(), addresses: new Map(), refused: 0, vendorId: '', records }
    uses.set(clientId, use)
    return use
  }

  /** Keeps the newest of a client, as long as there is room. */
  function keep<T>(kind: keyof typeof KEPT_MAX, list: T[], one: T): void {
    if (list.length >= KEPT_MAX[kind]) list.shift()
    else if (waiting[kind] < KEPT_MAX[kind] * CLIENTS_WAITING) waiting[kind] += 1
    else return
    list.push(one)
  }

  return {
    /** Counts one issued token. Takes no time and cannot fail. @param scope as granted, separated by spaces. */
    issued(clientId: string, scope: string, address: string): void {
      const use = entryOf(clientId)
      use.tokens += 1
      use.scopes.add(scope)
      const fromThere = use.addresses.get(address)
      if (fromThere !== undefined || use.addresses.size < ADDRESSES_MAX) {
        use.addresses.set(address, (fromThere ?? 0) + 1)
      }
    },
    /** Records an answered request of a known client. Takes no time and cannot fail. */
    answered(request: AnsweredRequest): void {
      const { clientId, vendorId, proven, requestId, route, status, address, code, reason, about } = request
      const use = entryOf(clientId)
      use.vendorId = vendorId
      const at_ms = clock.now()
      // Anyone can send the unproven, who must not push out anything else.
      if (proven) keep('answered', use.records.answered, { at_ms, request })
      if (code === undefined || reason === undefined) return
      use.refused += 1
      const kind = proven ? 'proven' : 'unproven'
      const record = { at_ms, clientId, requestId, route, status, code, reason, about, address }
      keep(kind, use.records[kind], record)
    },
    /**
     * Writes to Redis: to be called about each second. Never rejects; what Redis takes but does not confirm is dropped.
     */
    async flush(): Promise<void> {
      // What was noted waits while Redis is away: its size is bounded for each client, and that of all requests too.
      if (uses.size === 0 || redis.status !== 'ready') return
      const clients = [...uses]
      uses = new Map()
      waiting = { answered: 0, proven: 0, unproven: 0 }
      const now_ms = clock.now()
      let notes = nothing()
      for (const [index, client] of clients.entries()) {
        const [, { addresses, refused, records }] = client
        noteCounts(client, notes, now_ms)
        notes.refused.push(...refusedOf(client))
        if (records.answered.length > 0) notes.answered.push(answeredOf(client))
        notes.size += 1 + addresses.size + refused + records.answered.length
        if (notes.size < SIZE_OF_COMMAND && index < clients.length - 1) continue
        const json = JSON.stringify({ ...notes, now_ms })
        notes = nothing()
        await redis.eval(WRITE, 0, redisKeys.usagePending, redisLifetimes.refusals_ms, json).catch(() => {})
      }
    },
  }
}

const nothing = () => ({
  counts: [] as (string | number)[],
  seen: [] as string[],
  refused: [] as ReturnType<typeof refusedOf>,
  answered: [] as string[][],
  size: 0,
})

/** Notes what is added to the hash, and the times. */
function noteCounts(
  [clientId, use]: [clientId: string, Use],
  { counts, seen }: ReturnType<typeof nothing>,
  now_ms: number,
): void {
  const minute = Math.floor(now_ms / MINUTE_MS)
  if (use.refused > 0) counts.push(`${clientId}|r|${minute}`, use.refused)
  if (use.tokens === 0) return
  counts.push(`${clientId}|${Math.floor(now_ms / HOUR_MS)}`, use.tokens)
  counts.push(`${clientId}|m|${minute}`, use.tokens)
  seen.push(`${clientId}|last`)
  const scopes = new Set([...use.scopes].flatMap((several) => several.split(' ')))
  for (const scope of scopes) seen.push(`${clientId}|s|${scope}`)
  for (const [address, count] of use.addresses) {
    counts.push(`${clientId}|a|${address}`, count)
    seen.push(`${clientId}|l|${address}`)
  }
}

/** A client's refusals, as WRITE takes them. */
const refusedOf = ([clientId, { vendorId, records }]: [clientId: string, Use]) =>
  REFUSAL_KINDS.filter((kind) => records[kind].length > 0).map((kind) => ({
    ofClient: redisKeys.refusals(kind, clientId),
    ofCompany: redisKeys.refusals(kind, vendorId),
    max: KEPT_MAX[kind],
    maxOfCompany: KEPT_MAX[kind] * CLIENTS_OF_COMPANY,
    records: redisKeys.refusal(vendorId, ''),
    noted: records[kind].map((record) => [
      refusalPosition(record.at_ms, record.requestId),
      JSON.stringify(record),
    ]),
  }))

/** A client's log, as WRITE takes it. Without JSON an entry is shorter, and quicker to write. */
const answeredOf = ([clientId, { vendorId, records }]: [clientId: string, Use]): string[] => [
  redisKeys.requests(vendorId, clientId),
  redisKeys.requestLogs(vendorId),
  ...records.answered.map(({ at_ms, request: { requestId, status, address, code = '-', route } }) => {
    return `${at_ms} ${requestId} ${status} ${address} ${code} ${route}`
  }),
]
