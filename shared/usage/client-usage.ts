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
/** The refusals of each kind that are kept: the newest of a client. */
export const REFUSALS_MAX: Record<Kind, number> = { proven: 200, unproven: 50 }
/** The latest requests of a client that are kept, granted or refused: only such as certainly came from it. */
export const REQUESTS_MAX = 200
/** How many times as many are kept of a company: it may have this many Active clients. */
const CLIENTS_OF_COMPANY = 100
/** How many times as many one process holds between two flushes. */
const CLIENTS_WAITING = 50

/**
 * ARGV: the hash of pending usage, the life of a refusal in ms, and JSON: `counts`, each a command, a field and a
 * number; `refused`, for each client and kind the keys of its order and its company's, how many each may hold, what
 * the keys of the records begin with, and the records, each a position and a text; `answered`, for each client the keys
 * of its log and of its company's list of logs, and the texts, oldest first. One script, so that no count is stored
 * without its time. Orders are by position alone, so the first to go is the oldest. The logs come last: a Redis user
 * without the right to write them loses nothing else.
 */
const WRITE = `
local pending, life, notes = ARGV[1], ARGV[2], cjson.decode(ARGV[3])
local function trim(order, max, forget)
  local excess = redis.call('zcard', order) - max
  if excess <= 0 then return end
  local oldest = redis.call('zpopmin', order, excess)
  for i = 1, #oldest, 2 do forget(oldest[i]) end
end
for _, count in ipairs(notes.counts) do redis.call(count[1], pending, count[2], count[3]) end
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
  if redis.call('lpush', log.ofClient, unpack(log.texts)) > ${REQUESTS_MAX} then
    redis.call('ltrim', log.ofClient, 0, ${REQUESTS_MAX - 1})
  end
  redis.call('pexpire', log.ofClient, ${redisLifetimes.requests_ms})
  if redis.call('zadd', log.ofCompany, notes.now_ms, log.ofClient) == 1 then
    trim(log.ofCompany, ${CLIENTS_OF_COMPANY}, function(key) redis.call('del', key) end)
  end
  redis.call('pexpire', log.ofCompany, ${redisLifetimes.requests_ms})
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
export interface RefusalRecord {
  at_ms: number
  clientId: string
  requestId: string
  route: string
  status: number
  code: string
  reason: string
  about?: string | undefined
  /** Releases that knew no address may have written it. */
  address?: string | undefined
}

/** One of a client's latest requests as Redis keeps it, in JSON, half as long as an object. */
export type LoggedRequest = [
  at_ms: number,
  requestId: string,
  route: string,
  status: number,
  address: string,
  code?: string,
]

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
  answered: LoggedRequest[]
  records: Record<Kind, RefusalRecord[]>
}

export type ClientUsage = ReturnType<typeof createClientUsage>

export function createClientUsage({ redis, clock }: { redis: Redis; clock: Clock }) {
  let uses = new Map<string, Use>()
  let waiting = { answered: 0, proven: 0, unproven: 0 }

  function entryOf(clientId: string): Use {
    const known = uses.get(clientId)
    if (known) return known
    const records = { proven: [], unproven: [] }
    const counts = { tokens: 0, scopes: new Set<string>(), addresses: new Map(), refused: 0 }
    const use: Use = { ...counts, vendorId: '', answered: [], records }
    uses.set(clientId, use)
    return use
  }

  /** Keeps the newest of a client, as long as there is room. */
  function keep<T>(kind: keyof typeof waiting, list: T[], one: T): void {
    const max = kind === 'answered' ? REQUESTS_MAX : REFUSALS_MAX[kind]
    if (list.length >= max) list.shift()
    else if (waiting[kind] < max * CLIENTS_WAITING) waiting[kind] += 1
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
      const { clientId, requestId, route, status, address, code, reason, about, proven } = request
      const use = entryOf(clientId)
      use.vendorId = request.vendorId
      const at_ms = clock.now()
      // Anyone can send the unproven, who must not push out anything else.
      if (proven) {
        const logged: LoggedRequest = [at_ms, requestId, route, status, address]
        if (code !== undefined) logged.push(code)
        keep('answered', use.answered, logged)
      }
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
        const [, { addresses, refused, answered }] = client
        notes.counts.push(...countsOf(client, now_ms))
        notes.refused.push(...refusedOf(client))
        notes.answered.push(...answeredOf(client))
        notes.size += 1 + addresses.size + refused + answered.length
        if (notes.size < SIZE_OF_COMMAND && index < clients.length - 1) continue
        const json = JSON.stringify({ ...notes, now_ms })
        notes = nothing()
        await redis.eval(WRITE, 0, redisKeys.usagePending, redisLifetimes.refusals_ms, json).catch(() => {})
      }
    },
  }
}

type Count = [command: 'hincrby' | 'hset', field: string, value: number]

const nothing = () => ({
  counts: [] as Count[],
  refused: [] as ReturnType<typeof refusedOf>,
  answered: [] as ReturnType<typeof answeredOf>,
  size: 0,
})

/** What adds the counts to the hash, and sets the times. */
function countsOf([clientId, use]: [clientId: string, Use], now_ms: number): Count[] {
  const minute = Math.floor(now_ms / MINUTE_MS)
  const add = (field: string, count: number): Count[] =>
    count === 0 ? [] : [['hincrby', `${clientId}|${field}`, count]]
  const setTime = (field: string): Count => ['hset', `${clientId}|${field}`, now_ms]
  const scopes = new Set([...use.scopes].flatMap((several) => several.split(' ')))
  return [
    ...add(`r|${minute}`, use.refused),
    ...add(`${Math.floor(now_ms / HOUR_MS)}`, use.tokens),
    ...add(`m|${minute}`, use.tokens),
    ...(use.tokens === 0 ? [] : [setTime('last')]),
    ...[...scopes].map((scope) => setTime(`s|${scope}`)),
    ...[...use.addresses].flatMap(([address, count]) => [
      ...add(`a|${address}`, count),
      setTime(`l|${address}`),
    ]),
  ]
}

/** A client's refusals, as WRITE takes them. */
const refusedOf = ([clientId, { vendorId, records }]: [clientId: string, Use]) =>
  REFUSAL_KINDS.filter((kind) => records[kind].length > 0).map((kind) => ({
    ofClient: redisKeys.refusals(kind, clientId),
    ofCompany: redisKeys.refusals(kind, vendorId),
    max: REFUSALS_MAX[kind],
    maxOfCompany: REFUSALS_MAX[kind] * CLIENTS_OF_COMPANY,
    records: redisKeys.refusal(vendorId, ''),
    noted: records[kind].map((record) => [
      refusalPosition(record.at_ms, record.requestId),
      JSON.stringify(record),
    ]),
  }))

/** A client's log, as WRITE takes it. */
const answeredOf = ([clientId, { vendorId, answered }]: [clientId: string, Use]) =>
  answered.length === 0
    ? []
    : [
        {
          ofClient: redisKeys.requests(vendorId, clientId),
          ofCompany: redisKeys.requestLogs(vendorId),
          texts: answered.map((request) => JSON.stringify(request)),
        },
      ]
