import { z } from 'zod'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'
import { REFUSAL_KINDS, type RefusalRecord, refusalPosition } from './client-usage.ts'

/** When a request was refused, in milliseconds since the Unix epoch, and its id. */
export type Position = [at_ms: number, requestId: string]

const Stored: z.ZodType<RefusalRecord> = z.object({
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

/**
 * Returns the positions of the refused requests of a client, or of all clients of a company, in the last 24 hours,
 * newest first. Returns at most `limit`, starting behind `after`.
 * @param of the client's id or the company's.
 * @throws if Redis does not answer.
 */
export async function listPositions(
  redis: Redis,
  { of, after, limit, now_ms }: { of: string; after: Position | undefined; limit: number; now_ms: number },
): Promise<Position[]> {
  const newest = after ? `(${refusalPosition(...after)}` : '+'
  const oldest = `[${refusalPosition(now_ms - redisLifetimes.refusals_ms + 1)}`
  const orders = await Promise.all(
    REFUSAL_KINDS.map((kind) =>
      redis.zrange(redisKeys.refusals(kind, of), newest, oldest, 'BYLEX', 'REV', 'LIMIT', 0, limit),
    ),
  )
  return orders
    .flat()
    .sort((a, b) => (a < b ? 1 : -1))
    .slice(0, limit)
    .map((text): Position => {
      const space = text.indexOf(' ')
      return [Number(text.slice(0, space)), text.slice(space + 1)]
    })
}

/**
 * Returns the refused requests of a company with these ids, in the same order, without those that have expired.
 * @throws if Redis does not answer.
 */
export async function readRefusals(
  redis: Redis,
  { vendorId, requestIds, now_ms }: { vendorId: string; requestIds: readonly string[]; now_ms: number },
): Promise<RefusalRecord[]> {
  if (requestIds.length === 0) return []
  const texts = await redis.mget(requestIds.map((requestId) => redisKeys.refusal(vendorId, requestId)))
  return texts
    .map(parsed)
    .filter((one) => one !== undefined)
    .filter(({ at_ms }) => at_ms > now_ms - redisLifetimes.refusals_ms)
}

/** Other services may share this Redis. Nothing that they may have written there must break a page. */
function parsed(text: string | null): RefusalRecord | undefined {
  try {
    return Stored.safeParse(JSON.parse(text ?? 'null')).data
  } catch {
    return undefined
  }
}
