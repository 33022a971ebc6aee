import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'

const HOUR_MS = 3_600_000
const HOURS_KEPT = 48

/**
 * Moves what is pending in Redis to client_usage and client_usage_hourly. One process at a time does it; another
 * that calls it meanwhile does nothing. A crash in the middle loses what was being moved or leaves it for the next
 * call; nothing is counted twice.
 * @returns how many clients it stored something for.
 */
export async function drainUsage({ redis, db }: { redis: Redis; db: Database }): Promise<number> {
  return db.transaction(async (transaction) => {
    const { rows } = await transaction.raw(
      `select pg_try_advisory_xact_lock(hashtext('client_usage')) as mine`,
    )
    if (!rows[0].mine) return 0
    // Not when a crash left something behind: that goes first.
    await redis.renamenx(redisKeys.usagePending, redisKeys.usageDraining).catch(ignoreMissingKey)
    const { hours, last } = parse(await redis.hgetall(redisKeys.usageDraining))
    if (last.length === 0) return 0
    await transaction.raw(
      `insert into client_usage (client_id, last_used_at)
       select u.client_id, to_timestamp(u.at / 1000.0)
       from unnest(?::text[], ?::double precision[]) as u (client_id, at) join oauth_clients using (client_id)
       on conflict (client_id) do update
       set last_used_at = greatest(client_usage.last_used_at, excluded.last_used_at)`,
      [last.map(({ clientId }) => clientId), last.map(({ at }) => at)],
    )
    await transaction.raw(
      `insert into client_usage_hourly (client_id, hour, tokens)
       select u.client_id, to_timestamp(u.hour * 3600), u.tokens
       from unnest(?::text[], ?::bigint[], ?::bigint[]) as u (client_id, hour, tokens)
       join oauth_clients using (client_id)
       on conflict (client_id, hour) do update set tokens = client_usage_hourly.tokens + excluded.tokens`,
      [
        hours.map(({ clientId }) => clientId),
        hours.map(({ hour }) => hour),
        hours.map(({ tokens }) => tokens),
      ],
    )
    // Before the commit: a crash between the two loses counts, the other way round it would count them twice.
    await redis.del(redisKeys.usageDraining)
    return last.length
  })
}

function ignoreMissingKey(error: Error): void {
  if (!error.message.includes('no such key')) throw error
}

function parse(hash: Record<string, string>) {
  const hours: { clientId: string; hour: number; tokens: number }[] = []
  const last: { clientId: string; at: number }[] = []
  for (const [field, value] of Object.entries(hash)) {
    const [clientId = '', kind = ''] = field.split('|')
    if (kind === 'last') last.push({ clientId, at: Number(value) })
    else hours.push({ clientId, hour: Number(kind), tokens: Number(value) })
  }
  return { hours, last }
}

/** Removes hours that no answer counts any more, at most `limit` of them. @returns how many. */
export async function deleteOldUsage(
  db: Database,
  { now, limit }: { now: number; limit: number },
): Promise<number> {
  const { rowCount } = await db.raw(
    `delete from client_usage_hourly where (client_id, hour) in
       (select client_id, hour from client_usage_hourly where hour < to_timestamp(? * 3600) order by hour limit ?)`,
    [Math.floor(now / HOUR_MS) - HOURS_KEPT, limit],
  )
  return rowCount
}

export interface UsageStores {
  redis: Redis
  db: Database
  clock: Clock
}

export interface ClientUsage {
  lastUsedAt: Date | null
  /** In this hour and the 23 before it. */
  tokensIssued24h: number
}

/**
 * What the clients did, as stored in Postgres and as pending in Redis. While something is being moved from one to the
 * other it may be missing for a moment. Without Redis it is what Postgres knows.
 */
export async function readUsage(
  { redis, db, clock }: UsageStores,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, ClientUsage>> {
  if (clientIds.length === 0) return new Map()
  const hour = Math.floor(clock.now() / HOUR_MS)
  const { rows } = await db.raw(
    `select id as "clientId", u.last_used_at as "lastUsedAt",
       (select coalesce(sum(tokens), 0)::bigint from client_usage_hourly h
        where h.client_id = id and h.hour > to_timestamp(? * 3600)) as tokens
     from unnest(?::text[]) as id left join client_usage u on u.client_id = id`,
    [hour - 24, clientIds as string[]],
  )
  const usage = new Map<string, ClientUsage>()
  for (const { clientId, lastUsedAt, tokens } of rows)
    usage.set(clientId, { lastUsedAt, tokensIssued24h: tokens })
  for (const { clientId, lastUsedAt_ms, tokens } of await readPending(redis, clientIds, hour)) {
    const stored = usage.get(clientId) as ClientUsage
    stored.tokensIssued24h += tokens
    if (lastUsedAt_ms > (stored.lastUsedAt?.getTime() ?? 0)) stored.lastUsedAt = new Date(lastUsedAt_ms)
  }
  return usage
}

/** What is pending lies in this hour or the one before: it is moved about each minute. */
async function readPending(redis: Redis, clientIds: readonly string[], hour: number) {
  const fields = clientIds.flatMap((clientId) => [
    `${clientId}|last`,
    `${clientId}|${hour}`,
    `${clientId}|${hour - 1}`,
  ])
  const hashes = await Promise.all(
    [redisKeys.usagePending, redisKeys.usageDraining].map((key) =>
      redis.hmget(key, ...fields).catch(() => [] as (string | null)[]),
    ),
  )
  return hashes.flatMap((values) =>
    clientIds.map((clientId, index) => {
      const [last, now, before] = values.slice(index * 3, index * 3 + 3).map((value) => Number(value ?? 0))
      return { clientId, lastUsedAt_ms: last ?? 0, tokens: (now ?? 0) + (before ?? 0) }
    }),
  )
}
