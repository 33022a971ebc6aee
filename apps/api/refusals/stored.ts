import { REFUSALS_MAX, REFUSED_CLIENTS_MAX, type RefusalRecord, UNPROVEN_MAX } from '#shared/refusals.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'

/** Clients whose refusals are read in one step. */
const CLIENTS_A_STEP = 10

export interface StoredRefusal extends RefusalRecord {
  clientId: string
}

/**
 * The clients of a company that had a request refused in the last 24 hours, the latest first, at most 100.
 * @throws when Redis does not answer.
 */
export const refusedClients = (
  redis: Redis,
  { vendorId, now_ms }: { vendorId: string; now_ms: number },
): Promise<string[]> =>
  redis.zrange(
    redisKeys.refusedClients(vendorId),
    '+inf',
    `(${now_ms - redisLifetimes.refusals_ms}`,
    'BYSCORE',
    'REV',
    'LIMIT',
    0,
    REFUSED_CLIENTS_MAX,
  )

/**
 * The refused requests of one client in the last 24 hours, newest first: at most 200, and 50 more that anyone who knows
 * its id can have caused.
 * @throws when Redis does not answer.
 */
export async function refusalsOf(
  redis: Redis,
  { clientId, now_ms }: { clientId: string; now_ms: number },
): Promise<StoredRefusal[]> {
  const lists = await Promise.all([
    redis.lrange(redisKeys.refusals(clientId), 0, REFUSALS_MAX - 1),
    redis.lrange(redisKeys.unprovenRefusals(clientId), 0, UNPROVEN_MAX - 1),
  ])
  return lists
    .flat()
    .map((text) => ({ ...(JSON.parse(text) as RefusalRecord), clientId }))
    .filter(({ at_ms }) => at_ms > now_ms - redisLifetimes.refusals_ms)
    .sort(newestFirst)
}

/** The same for several clients together, a few at a time, until `enough` accepts what a step found. */
export async function refusalsOfAll(
  redis: Redis,
  { clientIds, now_ms }: { clientIds: readonly string[]; now_ms: number },
  enough: (found: readonly StoredRefusal[]) => boolean = () => false,
): Promise<StoredRefusal[]> {
  const all: StoredRefusal[] = []
  for (let from = 0; from < clientIds.length; from += CLIENTS_A_STEP) {
    const step = clientIds.slice(from, from + CLIENTS_A_STEP)
    const found = (await Promise.all(step.map((clientId) => refusalsOf(redis, { clientId, now_ms })))).flat()
    all.push(...found)
    if (enough(found)) break
  }
  return all.sort(newestFirst)
}

const newestFirst = (a: StoredRefusal, b: StoredRefusal): number =>
  b.at_ms - a.at_ms || (a.requestId < b.requestId ? -1 : 1)
