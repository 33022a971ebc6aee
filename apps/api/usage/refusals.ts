import { z } from 'zod'
import type { RedisOrCluster } from '#shared/stores/redis.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'
import { RECORDS_MAX, REFUSAL_KINDS, refusalPosition } from '#shared/usage/client-usage.ts'

/** When a request was refused, in milliseconds since the Unix epoch, and its id. */
export type RefusalPosition = [at_ms: number, requestId: string]

/** As client-usage.ts stores it. `at_ms` is in milliseconds since the Unix epoch. */
const StoredRefusal = z.object({
  at_ms: z.number(),
  clientId: z.string(),
  requestId: z.string(),
  route: z.string(),
  status: z.number(),
  code: z.string(),
  reason: z.string(),
  about: z.string().optional(),
  address: z.string().optional(),
})
export type RefusalRecord = z.infer<typeof StoredRefusal>

export interface RefusalRange {
  vendorId: string
  /** Without one, all clients of the company. */
  clientId: string | undefined
  /** The last position of the previous page. */
  after: RefusalPosition | undefined
  limit: number
  now_ms: number
}

/**
 * Returns the positions of a client's or company's refused requests in the last 24 hours, newest first.
 * @throws if Redis does not answer.
 */
export async function listRefusalPositions(
  redis: RedisOrCluster,
  { vendorId, clientId, after, limit, now_ms }: RefusalRange,
): Promise<RefusalPosition[]> {
  const newest = after ? `(${refusalPosition(...after)}` : '+'
  const oldest = `[${refusalPosition(now_ms - redisLifetimes.refusals_ms + 1)}`
  const orders = await Promise.all(
    REFUSAL_KINDS.map((kind) =>
      redis.zrange(
        redisKeys.refusals(kind, vendorId, clientId),
        newest,
        oldest,
        'BYLEX',
        'REV',
        'LIMIT',
        0,
        limit,
      ),
    ),
  )
  return orders
    .flat()
    .sort((a, b) => (a < b ? 1 : -1))
    .slice(0, limit)
    .map((text): RefusalPosition => {
      const space = text.indexOf(' ')
      return [Number(text.slice(0, space)), text.slice(space + 1)]
    })
}

/**
 * Returns a company's refused requests with these ids, in the same order, without those that have expired.
 * @throws if Redis does not answer.
 */
export async function readRefusals(
  redis: RedisOrCluster,
  { vendorId, requestIds, now_ms }: { vendorId: string; requestIds: readonly string[]; now_ms: number },
): Promise<RefusalRecord[]> {
  if (requestIds.length === 0) return []
  const texts = await redis.mget(requestIds.map((requestId) => redisKeys.refusal(vendorId, requestId)))
  return texts
    .map(parseRecord)
    .filter((record) => record !== undefined)
    .filter(({ at_ms }) => at_ms > now_ms - redisLifetimes.refusals_ms)
}

/**
 * Returns all that is kept of a client's refused requests, newest first.
 * @throws if Redis does not answer.
 */
export async function readLatestRefusals(
  redis: RedisOrCluster,
  { vendorId, clientId, now_ms }: { vendorId: string; clientId: string; now_ms: number },
): Promise<RefusalRecord[]> {
  const limit = RECORDS_MAX.proven + RECORDS_MAX.unproven
  const range = { vendorId, clientId, after: undefined, limit, now_ms }
  const positions = await listRefusalPositions(redis, range)
  return readRefusals(redis, { vendorId, requestIds: positions.map(([, requestId]) => requestId), now_ms })
}

const DELETE_BATCH = 500

/**
 * Deletes the requests of a company and of its clients. Refused ones are deleted in batches.
 * @throws if Redis does not answer.
 */
export async function deleteRequests(
  redis: RedisOrCluster,
  { vendorId, clientIds }: { vendorId: string; clientIds: readonly string[] },
): Promise<void> {
  for (const kind of REFUSAL_KINDS) {
    const order = redisKeys.refusals(kind, vendorId)
    for (;;) {
      const positions = await redis.zrange(order, '-', '+', 'BYLEX', 'LIMIT', 0, DELETE_BATCH)
      if (positions.length === 0) break
      await redis.del(positions.map((text) => redisKeys.refusal(vendorId, text.slice(text.indexOf(' ') + 1))))
      await redis.zrem(order, ...positions)
    }
    await redis.del(redisKeys.refusalCounts(kind, vendorId))
    for (const clientId of clientIds) await redis.del(redisKeys.refusals(kind, vendorId, clientId))
  }
  await redis.del(redisKeys.requestLogs(vendorId))
  for (const clientId of clientIds) await redis.del(redisKeys.requests(vendorId, clientId))
}

/** The newest refused requests of a client after a time, and when the first of each kind was refused. */
export type LatestRefusals = Record<
  (typeof REFUSAL_KINDS)[number],
  { first_ms: number; newest: RefusalRecord[] } | undefined
>

/** How many of each kind are read per client. Anyone can send unproven ones, so the newest may be forged. */
const NEWEST = { proven: 1, unproven: 5 } as const
/** Keeps each script under a millisecond. */
const CLIENTS_PER_SCRIPT = 50

/**
 * KEYS: one of the company, by which a cluster finds its server. ARGV: a JSON list of orders, each with its
 * key, the prefix of its records' keys, the position after which to look, and how many records to read.
 * Returns the first position and the newest records of each order.
 */
const LATEST = `
local answers = {}
for i, order in ipairs(cjson.decode(ARGV[1])) do
  local after = '(' .. order.after
  local newest = redis.call('zrange', order.key, '+', after, 'BYLEX', 'REV', 'LIMIT', 0, order.count)
  answers[i] = {}
  if #newest > 0 then
    local first = redis.call('zrange', order.key, after, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
    local keys = {}
    for j, position in ipairs(newest) do keys[j] = order.records .. string.match(position, ' (.*)') end
    answers[i] = { first, unpack(redis.call('mget', unpack(keys))) }
  end
end
return answers`

/**
 * Returns the latest refused requests of some clients of a company, in the last 24 hours, without clients
 * that have none. The cost does not depend on how many there are.
 * @throws if Redis does not answer.
 */
export async function latestRefusals(
  redis: RedisOrCluster,
  vendorId: string,
  clients: readonly { clientId: string; after_ms: number }[],
  now_ms: number,
): Promise<Map<string, LatestRefusals>> {
  const oldest_ms = now_ms - redisLifetimes.refusals_ms
  const orders = clients.flatMap(({ clientId, after_ms }) =>
    REFUSAL_KINDS.map((kind) => ({
      key: redisKeys.refusals(kind, vendorId, clientId),
      records: redisKeys.refusal(vendorId, ''),
      after: refusalPosition(Math.max(after_ms, oldest_ms) + 1),
      count: NEWEST[kind],
    })),
  )
  const width = CLIENTS_PER_SCRIPT * REFUSAL_KINDS.length
  const scripts = Array.from({ length: Math.ceil(orders.length / width) }, (_, index) =>
    redis.eval(
      LATEST,
      1,
      redisKeys.requestLogs(vendorId),
      JSON.stringify(orders.slice(index * width, (index + 1) * width)),
    ),
  )
  const answers = ((await Promise.all(scripts)) as (string | null)[][][]).flat()
  return new Map(
    clients.flatMap(({ clientId }, index): [string, LatestRefusals][] => {
      const [proven, unproven] = REFUSAL_KINDS.map((_, kind) =>
        parseLatest(answers[index * REFUSAL_KINDS.length + kind]),
      )
      return proven || unproven ? [[clientId, { proven, unproven }]] : []
    }),
  )
}

function parseLatest([first, ...texts]: (string | null)[] = []) {
  const newest = texts.map(parseRecord).filter((record) => record !== undefined)
  return first && newest.length > 0 ? { first_ms: Number.parseInt(first, 10), newest } : undefined
}

/** Returns undefined for an invalid entry: other services may share this Redis, and must not break a page. */
function parseRecord(text: string | null): RefusalRecord | undefined {
  try {
    return StoredRefusal.safeParse(JSON.parse(text ?? 'null')).data
  } catch {
    return undefined
  }
}
