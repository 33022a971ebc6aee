import { ADDRESS_DAYS_KEPT, ADDRESSES_PER_DAY_MAX } from '#shared/rules/clients.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import {
  ADDRESSES_SHOWN,
  DAY_MS,
  DAYS_SHOWN,
  HOUR_MS,
  HOURS_SHOWN,
  MINUTE_MS,
  MINUTES_SHOWN,
  type UsageStores,
} from './windows.ts'

/** SQL for whether the client `c` got a token in the 24 hours before `:now`. */
export const USED_IN_LAST_DAY = `exists (select from client_usage u
  where u.client_id = c.client_id and u.last_used_at > :now::timestamptz - interval '1 day')`

export interface UsageSummary {
  lastUsedAt: Date | null
  /** For each 24 hours of the last DAYS_SHOWN days, oldest first, up to and including this hour. */
  tokensByDay: number[]
}

/** Returns the usage of each client, by client id. */
export async function readUsageSummaries(
  { db, clock }: UsageStores,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, UsageSummary>> {
  if (clientIds.length === 0) return new Map()
  const end_ms = clock.now() - (clock.now() % HOUR_MS) + HOUR_MS
  const from_ms = end_ms - DAYS_SHOWN * DAY_MS
  const [lastUses, days] = await Promise.all([
    db.raw('select client_id as "clientId", last_used_at as at from client_usage where client_id = any(?)', [
      clientIds as string[],
    ]),
    db.raw(
      // Another process's clock may be in the next hour.
      `select client_id as "clientId", least(date_bin('1 day', hour, :from), :lastDay) as day,
         sum(tokens)::bigint as tokens
       from client_usage_hourly where client_id = any(:clientIds) and hour >= :from group by 1, 2`,
      { clientIds: clientIds as string[], from: new Date(from_ms), lastDay: new Date(end_ms - DAY_MS) },
    ),
  ])
  const summaries = new Map<string, UsageSummary>(
    clientIds.map((clientId) => [clientId, { lastUsedAt: null, tokensByDay: Array(DAYS_SHOWN).fill(0) }]),
  )
  const summary = (clientId: string) => summaries.get(clientId) as UsageSummary
  for (const { clientId, at } of lastUses.rows) summary(clientId).lastUsedAt = at
  for (const { clientId, day, tokens } of days.rows)
    summary(clientId).tokensByDay[(day.getTime() - from_ms) / DAY_MS] = tokens
  return summaries
}

interface Counts {
  /** The start of the hour or minute. */
  at: Date
  tokens: number
  refused: number
}

export interface UsageHistory {
  /** Without gaps, oldest first. */
  hours: Counts[]
  minutes: Counts[]
  /** When a token with each scope was last issued. */
  scopes: ReadonlyMap<string, Date>
  /** The latest first. */
  addresses: AddressUse[]
  /** From when on the tokens of an address are counted: today and the 13 days before (UTC). */
  addressesSince: Date
  /** Before this, further addresses may have got tokens. undefined: none did. */
  addressesMissingBefore: Date | undefined
}

interface AddressUse {
  address: string
  tokens: number
  /** In ADDRESS_DAYS_KEPT days. */
  firstSeenAt: Date
  lastSeenAt: Date
}

/** Returns how one client was used over time. */
export async function readUsageHistory({ db, clock }: UsageStores, clientId: string): Promise<UsageHistory> {
  const now_ms = clock.now()
  const since = (duration_ms: number) => [clientId, new Date(now_ms - duration_ms)]
  const hours = await db.raw(
    'select hour as at, tokens, refused from client_usage_hourly where client_id = ? and hour > ?',
    since(HOURS_SHOWN * HOUR_MS),
  )
  const minutes = await db.raw(
    'select minute as at, tokens, refused from client_usage_by_minute where client_id = ? and minute > ?',
    since(MINUTES_SHOWN * MINUTE_MS),
  )
  const scopes = await db.raw(
    `select scope, last_at::timestamptz as "lastUsedAt"
     from client_usage, jsonb_each_text(scopes) as used (scope, last_at) where client_id = ?`,
    [clientId],
  )
  return {
    ...(await readAddresses(db, clientId, now_ms)),
    hours: fillGaps(hours.rows, { width_ms: HOUR_MS, length: HOURS_SHOWN, now_ms }),
    minutes: fillGaps(minutes.rows, { width_ms: MINUTE_MS, length: MINUTES_SHOWN, now_ms }),
    scopes: new Map(scopes.rows.map(({ scope, lastUsedAt }: ScopeRow) => [scope, lastUsedAt])),
  }
}

async function readAddresses(db: Queryable, clientId: string, now_ms: number) {
  const addressesSince = new Date(now_ms - (now_ms % DAY_MS) - (DAYS_SHOWN - 1) * DAY_MS)
  const uses = await db.raw(
    `select address, sum(tokens) filter (where day >= (:since::timestamptz at time zone 'UTC')::date)::bigint
         as tokens, min(first_seen_at) as "firstSeenAt", max(last_seen_at) as "lastSeenAt"
     from client_address_usage where client_id = :clientId
     group by address order by "lastSeenAt" desc, address limit ${ADDRESSES_SHOWN + 1}`,
    { clientId, since: addressesSince },
  )
  const full = await db.raw(
    `select greatest(
       (select (max(day) + 1)::timestamp at time zone 'UTC' from (select day from client_address_usage
          where client_id = :clientId group by day having count(*) >= ${ADDRESSES_PER_DAY_MAX}) as full_days),
       (select :kept::timestamptz from client_usage
          where client_id = :clientId and first_used_at < :kept)) as until`,
    { clientId, kept: new Date(now_ms - ADDRESS_DAYS_KEPT * DAY_MS) },
  )
  const latest: AddressUse[] = uses.rows
  const addresses = latest.slice(0, ADDRESSES_SHOWN).filter(({ lastSeenAt }) => lastSeenAt >= addressesSince)
  const missing_ms = Math.max(
    latest[addresses.length]?.lastSeenAt.getTime() ?? 0,
    Math.min(full.rows[0].until?.getTime() ?? 0, now_ms),
  )
  const addressesMissingBefore = missing_ms === 0 ? undefined : new Date(missing_ms)
  return { addresses, addressesSince, addressesMissingBefore }
}

interface ScopeRow {
  scope: string
  lastUsedAt: Date
}

/** Returns the counts of the last `length` hours or minutes, zero for those without a row. */
function fillGaps(
  rows: readonly Counts[],
  { width_ms, length, now_ms }: { width_ms: number; length: number; now_ms: number },
): Counts[] {
  const countsByTime = new Map(rows.map((counts) => [counts.at.getTime(), counts]))
  const last_ms = now_ms - (now_ms % width_ms)
  return Array.from({ length }, (_, index) => {
    const at_ms = last_ms - (length - 1 - index) * width_ms
    return countsByTime.get(at_ms) ?? { at: new Date(at_ms), tokens: 0, refused: 0 }
  })
}

/** When a client got tokens, and from where. */
export interface ClientUses {
  /** null: never. */
  firstUsedAt: Date | null
  lastUsedAt: Date | null
  /** The longest time between two of its tokens; null if it got fewer than two. */
  longestQuiet_s: number | null
  /** The latest first. */
  addresses: { address: string; lastUsedAt: Date }[]
}

/** @throws if Postgres does not answer. */
export async function readUses(db: Queryable, clientId: string): Promise<ClientUses> {
  const addresses = await db.raw(
    `select address, max(last_seen_at) as "lastUsedAt" from client_address_usage
     where client_id = ? group by address order by "lastUsedAt" desc, address limit 200`,
    [clientId],
  )
  const { rows } = await db.raw(
    `select first_used_at as "firstUsedAt", last_used_at as "lastUsedAt", longest_quiet_s as "longestQuiet_s"
     from client_usage where client_id = ?`,
    [clientId],
  )
  const [uses = { firstUsedAt: null, lastUsedAt: null, longestQuiet_s: null }] = rows
  return { ...uses, addresses: addresses.rows }
}
