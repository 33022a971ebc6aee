import type { Database, Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { minutesUsed, numberIn, type PendingUsage, parseUsage } from './pending-usage.ts'
import { daysOfUse, type NewDay } from './usage-days.ts'
import {
  ADDRESSES_KEPT,
  DAY_MS,
  DAYS_LISTED,
  HOUR_MS,
  HOURS_SHOWN,
  MINUTE_MS,
  MINUTES_SHOWN,
  RHYTHM_MS,
  type UsageStores,
} from './usage-windows.ts'

const FIELDS_A_STEP = 1_000
const CLIENTS_A_STATEMENT = 1_000
/** Longer than usage is shown, since late counts are stored too. */
const HOURS_KEPT = HOURS_SHOWN + 24
const MINUTES_KEPT = 2 * MINUTES_SHOWN

/**
 * Moves pending usage from Redis to Postgres. Only one process does this at a time; a concurrent call does nothing. A
 * crash either loses the usage being moved or leaves it for the next call. Nothing is counted twice.
 * @param options.skipped is called with the number of unreadable fields, which are dropped.
 * @returns the number of clients for which usage was stored.
 */
export async function drainUsage({
  redis,
  db,
  skipped: noteSkipped = () => {},
}: {
  redis: Redis
  db: Database
  skipped?: (fields: number) => void
}): Promise<number> {
  return db.transaction(async (transaction) => {
    if (!(await holdUsage(transaction))) return 0
    // Unless a crash left something behind, which is stored first.
    await redis.renamenx(redisKeys.usagePending, redisKeys.usageDraining).catch(ignoreMissingKey)
    const { clients, skipped } = parseUsage(await fieldsOf(redis, redisKeys.usageDraining))
    if (skipped > 0) noteSkipped(skipped)
    if (clients.size + skipped === 0) return 0
    const all = [...clients]
    for (let from = 0; from < all.length; from += CLIENTS_A_STATEMENT)
      await store(transaction, all.slice(from, from + CLIENTS_A_STATEMENT))
    // Before the commit, so that a crash between the two loses counts. In the other order it would count them twice.
    await redis.del(redisKeys.usageDraining)
    return clients.size
  })
}

/** Keeps usage from being moved until the transaction ends. @returns false if it is being moved now. */
export async function holdUsage(transaction: Queryable): Promise<boolean> {
  const { rows } = await transaction.raw(`select pg_try_advisory_xact_lock(hashtext('client_usage')) as mine`)
  return rows[0].mine
}

/** A hash that grew while nothing was stored is too long for one command to read before its timeout. */
async function fieldsOf(redis: Redis, key: string): Promise<[field: string, value: string][]> {
  const fields = new Map<string, string>()
  let cursor = '0'
  do {
    const [next, flat] = await redis.hscan(key, cursor, 'COUNT', FIELDS_A_STEP)
    for (let i = 0; i < flat.length; i += 2) fields.set(flat[i] as string, flat[i + 1] as string)
    cursor = next
  } while (cursor !== '0')
  return [...fields]
}

function ignoreMissingKey(error: Error): void {
  if (!error.message.includes('no such key')) throw error
}

async function store(transaction: Queryable, clients: [clientId: string, PendingUsage][]): Promise<void> {
  const lines = <T>(each: (usage: PendingUsage) => Iterable<T>) =>
    clients.flatMap(([clientId, usage]) => [...each(usage)].map((line) => ({ clientId, ...line })))
  const write = (sql: string, rows: readonly object[]) =>
    rows.length === 0 ? undefined : transaction.raw(sql, [JSON.stringify(rows)])

  await write(
    STORE_DAYS,
    lines(({ minutes }) => daysOfUse(minutesUsed(minutes)).map(dayToStore)),
  )
  const used = lines(({ lastUsedAt_ms: at, hours }) =>
    at === undefined ? [] : [{ at, tokens: tokensIn(hours) }],
  )
  await write(STORE_LAST_USE, used)
  await write(
    storeCounts('client_usage_hourly', 'hour'),
    lines(({ hours }) => [...hours].map(([at, counts]) => ({ at, ...counts }))),
  )
  await write(
    storeCounts('client_usage_by_minute', 'minute'),
    lines(({ minutes }) => [...minutes].map(([at, counts]) => ({ at, ...counts }))),
  )
  await write(
    STORE_SCOPES,
    lines(({ scopes }) => [...scopes].map(([scope, at]) => ({ scope, at }))),
  )
  const seen = lines(({ addresses }) =>
    [...addresses].map(([address, { tokens, seenAt_ms: at }]) => ({ address, tokens, at })),
  )
  await write(STORE_ADDRESSES, seen)
  await write(KEEP_LATEST_ADDRESSES, seen)
}

const tokensIn = (hours: PendingUsage['hours']): number =>
  [...hours.values()].reduce((sum, { tokens }) => sum + tokens, 0)

const dayToStore = ({ day_ms, firstUsedAt_ms, lastUsedAt_ms, longestGap_ms, before_ms }: NewDay) => ({
  at: day_ms,
  first: firstUsedAt_ms,
  last: lastUsedAt_ms,
  gap: longestGap_ms / 1000,
  before: before_ms ?? null,
})

/**
 * The parameter is a JSON list with one object per row. Times are in milliseconds. Unknown clients and those of erased
 * companies are skipped.
 */
const from = (columns = '') => `
  from jsonb_to_recordset(?::jsonb) as u ("clientId" text, at double precision${columns})
  join oauth_clients c on c.client_id = u."clientId"
  join companies o on o.vendor_id = c.vendor_id and o.erased_at is null`

/** Whatever a clock did, no gap is longer than what is kept. */
const gap = (seconds: string) => `least(greatest(${seconds}), ${RHYTHM_MS / 1000})::integer`

/** A use that is stored late, after a newer one, ends no gap. */
const STORE_DAYS = `
  insert into client_usage_daily as d (client_id, day, first_used_at, last_used_at, longest_gap_s)
  select c.client_id, (to_timestamp(u.at / 1000) at time zone 'UTC')::date, to_timestamp(u.first / 1000),
    to_timestamp(u.last / 1000),
    ${gap(`u.gap, case when u.before is null then u.first / 1000 - (
      select extract(epoch from max(last_used_at)) from client_usage_daily where client_id = c.client_id) end`)}
  ${from(', first double precision, last double precision, gap double precision, before double precision')}
  on conflict (client_id, day) do update
  set first_used_at = least(d.first_used_at, excluded.first_used_at),
    last_used_at = greatest(d.last_used_at, excluded.last_used_at),
    longest_gap_s = greatest(d.longest_gap_s, excluded.longest_gap_s)`

const STORE_LAST_USE = `
  insert into client_usage as l (client_id, first_used_at, last_used_at, longest_quiet_s)
  select c.client_id, to_timestamp(u.at / 1000), to_timestamp(u.at / 1000), case when u.tokens > 1 then 0 end
  ${from(', tokens bigint')}
  on conflict (client_id) do update
  set first_used_at = least(l.first_used_at, excluded.first_used_at),
    last_used_at = greatest(l.last_used_at, excluded.last_used_at),
    longest_quiet_s = greatest(l.longest_quiet_s, 0,
      extract(epoch from excluded.last_used_at - l.last_used_at)::integer)`

const storeCounts = (table: string, width: string) => `
  insert into ${table} (client_id, ${width}, tokens, refused)
  select c.client_id, to_timestamp(u.at / 1000), u.tokens, u.refused ${from(', tokens bigint, refused bigint')}
  on conflict (client_id, ${width}) do update
  set tokens = ${table}.tokens + excluded.tokens, refused = ${table}.refused + excluded.refused`

const STORE_SCOPES = `
  insert into client_scope_usage (client_id, scope, last_used_at)
  select c.client_id, u.scope, to_timestamp(u.at / 1000) ${from(', scope text')}
  on conflict (client_id, scope) do update
  set last_used_at = greatest(client_scope_usage.last_used_at, excluded.last_used_at)`

const STORE_ADDRESSES = `
  insert into client_address_usage as a (client_id, address, tokens, last_seen_at, first_seen_at)
  select c.client_id, u.address, u.tokens, to_timestamp(u.at / 1000), to_timestamp(u.at / 1000)
  ${from(', address text, tokens bigint')}
  on conflict (client_id, address) do update
  set tokens = a.tokens + excluded.tokens,
    last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at),
    first_seen_at = coalesce(a.first_seen_at, a.last_seen_at),
    longest_gap_s = ${gap('a.longest_gap_s, extract(epoch from excluded.last_seen_at - a.last_seen_at)')}`

const KEEP_LATEST_ADDRESSES = `
  delete from client_address_usage a using (
    select client_id, address, row_number() over (partition by client_id order by last_seen_at desc, address) as place
    from client_address_usage
    where client_id in (select u."clientId" from jsonb_to_recordset(?::jsonb) as u ("clientId" text))
  ) ranked
  where a.client_id = ranked.client_id and a.address = ranked.address and ranked.place > ${ADDRESSES_KEPT}`

/** Deletes usage that is no longer shown, at most `limit` rows of each kind. Returns their number. */
export async function deleteOldUsage(
  db: Database,
  { now, limit }: { now: number; limit: number },
): Promise<number> {
  let deleted = 0
  for (const [table, column, kept_ms] of [
    ['client_usage_hourly', 'hour', HOURS_KEPT * HOUR_MS],
    ['client_usage_by_minute', 'minute', MINUTES_KEPT * MINUTE_MS],
    ['client_usage_daily', 'day', RHYTHM_MS + DAY_MS],
    ['client_address_usage', 'last_seen_at', RHYTHM_MS],
  ] as const) {
    const { rowCount } = await db.raw(
      `delete from ${table} where ctid = any(array(
         select ctid from ${table} where ${column} < ? order by ${column} limit ?))`,
      [new Date(now - kept_ms), limit],
    )
    deleted += rowCount
  }
  return deleted
}

export interface ClientUsage {
  lastUsedAt: Date | null
  /** In each 24 hours of the last DAYS_LISTED days, oldest first; the last one is this hour and the 23 before it. */
  tokensByDay: number[]
}

/**
 * The usage of several clients: stored in Postgres, and pending in Redis. Usage that is being moved from one to the
 * other may be missing briefly. Without Redis, only the stored part.
 */
export async function readUsage(
  { redis, db, clock }: UsageStores,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, ClientUsage>> {
  if (clientIds.length === 0) return new Map()
  const hour = Math.floor(clock.now() / HOUR_MS)
  const [last, days] = await Promise.all([
    db.raw('select client_id as "clientId", last_used_at as at from client_usage where client_id = any(?)', [
      clientIds as string[],
    ]),
    db.raw(
      `select client_id as "clientId", (?::bigint - (extract(epoch from hour) / 3600)::bigint) / 24 as "daysAgo",
         sum(tokens)::bigint as tokens
       from client_usage_hourly where client_id = any(?) and hour > to_timestamp(?::bigint * 3600) group by 1, 2`,
      [hour, clientIds as string[], hour - HOURS_SHOWN],
    ),
  ])
  const usage = new Map<string, ClientUsage>(
    clientIds.map((clientId) => [clientId, { lastUsedAt: null, tokensByDay: Array(DAYS_LISTED).fill(0) }]),
  )
  const of = (clientId: string) => usage.get(clientId) as ClientUsage
  for (const { clientId, at } of last.rows) of(clientId).lastUsedAt = at
  for (const { clientId, daysAgo, tokens } of days.rows)
    of(clientId).tokensByDay[DAYS_LISTED - 1 - Number(daysAgo)] = Number(tokens)
  for (const { clientId, lastUsedAt_ms, tokens } of await readPending(redis, clientIds, hour)) {
    const stored = usage.get(clientId) as ClientUsage
    stored.tokensByDay[DAYS_LISTED - 1] = lastDayOf(stored) + tokens
    if (lastUsedAt_ms > (stored.lastUsedAt?.getTime() ?? 0)) stored.lastUsedAt = new Date(lastUsedAt_ms)
  }
  return usage
}

/** Tokens of this hour and the 23 before it. */
export const lastDayOf = ({ tokensByDay }: Pick<ClientUsage, 'tokensByDay'>): number =>
  tokensByDay.at(-1) ?? 0

/** Pending usage belongs to this hour or the previous one, because it is moved about once a minute. */
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
      const [last, now, before] = values
        .slice(index * 3, index * 3 + 3)
        .map((value) => numberIn(value ?? null))
      return { clientId, lastUsedAt_ms: last ?? 0, tokens: (now ?? 0) + (before ?? 0) }
    }),
  )
}
