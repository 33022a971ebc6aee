import { type Counts, countsAt, minutesUsed, readPendingOf } from './pending-usage.ts'
import { type DayOfUse, daysOfUse, withDays } from './usage-days.ts'
import {
  DAY_MS,
  HOUR_MS,
  HOURS_SHOWN,
  MINUTE_MS,
  MINUTES_SHOWN,
  RHYTHM_MS,
  type UsageStores,
} from './usage-windows.ts'

export interface CountsAt extends Counts {
  /** The start of the hour or minute. */
  at_ms: number
}

/** The use of a client from one address. Times are in milliseconds since the Unix epoch. */
export interface AddressOfUse {
  address: string
  tokens: number
  seenAt_ms: number
  /** undefined: not known, since it was long ago. */
  firstSeenAt_ms: number | undefined
  /** The longest time without a use between two from this address. */
  longestGap_ms: number
}

export interface UsageHistory {
  /** Whether this is all that is known. Otherwise Redis did not answer, and uses may be missing. */
  whole: boolean
  /** When it last got a token. */
  lastUsedAt_ms: number | undefined
  /** Those of the last 100 days on which it was used, oldest first. */
  days: DayOfUse[]
  /** Every one, oldest first. */
  hours: CountsAt[]
  minutes: CountsAt[]
  /** When each scope was last used. */
  scopes: ReadonlyMap<string, number>
  /** Those of the last 100 days, the latest first. */
  addresses: AddressOfUse[]
}

/** The usage of one client: stored in Postgres, and pending in Redis. Without Redis, only the stored part. */
export async function readUsageOf(
  { db, redis, clock }: UsageStores,
  clientId: string,
): Promise<UsageHistory> {
  const now_ms = clock.now()
  // Reads pending usage first. Usage stored between the two reads is then briefly counted twice instead of missing.
  const { usage: pending, whole } = await readPendingOf(redis, clientId)
  const rows = async <Row>(sql: string, since_ms: number): Promise<Row[]> =>
    (await db.raw(sql, [clientId, new Date(since_ms)])).rows
  // One after the other, since `db` may be a transaction.
  const last = await rows<{ at: Date }>(
    'select last_used_at as at from client_usage where client_id = ? and last_used_at > ?',
    0,
  )
  const days = await rows<StoredDay>(STORED_DAYS, now_ms - RHYTHM_MS - DAY_MS)
  const hours = await rows<StoredCounts>(
    'select hour as at, tokens, refused from client_usage_hourly where client_id = ? and hour > ?',
    now_ms - HOURS_SHOWN * HOUR_MS,
  )
  const minutes = await rows<StoredCounts>(
    'select minute as at, tokens, refused from client_usage_by_minute where client_id = ? and minute > ?',
    now_ms - MINUTES_SHOWN * MINUTE_MS,
  )
  const scopes = await rows<{ scope: string; at: Date }>(
    'select scope, last_used_at as at from client_scope_usage where client_id = ? and last_used_at > ?',
    0,
  )
  const addresses = await rows<StoredAddress>(STORED_ADDRESSES, now_ms - RHYTHM_MS)
  const newDays = daysOfUse(minutesUsed(pending.minutes))
  const lastUsedAt_ms = Math.max(last[0]?.at.getTime() ?? 0, pending.lastUsedAt_ms ?? 0)
  for (const { at, tokens, refused } of hours) add(pending.hours, at, tokens, refused)
  for (const { at, tokens, refused } of minutes) add(pending.minutes, at, tokens, refused)
  for (const { scope, at } of scopes) {
    pending.scopes.set(scope, Math.max(pending.scopes.get(scope) ?? 0, at.getTime()))
  }
  return {
    whole,
    lastUsedAt_ms: lastUsedAt_ms || undefined,
    days: withDays(days.map(dayOf), newDays),
    hours: every(pending.hours, HOUR_MS, HOURS_SHOWN, now_ms),
    minutes: every(pending.minutes, MINUTE_MS, MINUTES_SHOWN, now_ms),
    scopes: pending.scopes,
    addresses: withAddresses(addresses, pending.addresses),
  }
}

const STORED_DAYS = `
  select extract(epoch from day)::bigint * 1000 as "day_ms", first_used_at as first, last_used_at as last,
    longest_gap_s as "longestGap_s"
  from client_usage_daily where client_id = ? and day >= ? order by day`

const STORED_ADDRESSES = `
  select address, tokens, last_seen_at as at, first_seen_at as first, longest_gap_s as "longestGap_s"
  from client_address_usage where client_id = ? and last_seen_at > ?`

interface StoredDay {
  day_ms: number
  first: Date
  last: Date
  longestGap_s: number
}

const dayOf = ({ day_ms, first, last, longestGap_s }: StoredDay): DayOfUse => ({
  day_ms,
  firstUsedAt_ms: first.getTime(),
  lastUsedAt_ms: last.getTime(),
  longestGap_ms: longestGap_s * 1000,
})

/** Adds later use to what is stored, as the statement in usage.ts does. */
function withAddresses(
  stored: readonly StoredAddress[],
  pending: ReadonlyMap<string, { tokens: number; seenAt_ms: number }>,
): AddressOfUse[] {
  const addresses = new Map<string, AddressOfUse>()
  for (const { address, tokens, at, first, longestGap_s } of stored)
    addresses.set(address, {
      address,
      tokens,
      seenAt_ms: at.getTime(),
      firstSeenAt_ms: first?.getTime() ?? undefined,
      longestGap_ms: longestGap_s * 1000,
    })
  for (const [address, { tokens, seenAt_ms }] of pending) {
    const before = addresses.get(address)
    addresses.set(address, {
      address,
      tokens: tokens + (before?.tokens ?? 0),
      seenAt_ms: Math.max(seenAt_ms, before?.seenAt_ms ?? 0),
      firstSeenAt_ms: before?.firstSeenAt_ms ?? before?.seenAt_ms ?? seenAt_ms,
      longestGap_ms: Math.max(before?.longestGap_ms ?? 0, before ? seenAt_ms - before.seenAt_ms : 0),
    })
  }
  return [...addresses.values()].sort((a, b) => b.seenAt_ms - a.seenAt_ms)
}

interface StoredCounts extends Counts {
  at: Date
}

interface StoredAddress {
  address: string
  tokens: number
  at: Date
  first: Date | null
  longestGap_s: number
}

function add(counts: Map<number, Counts>, at: Date, tokens: number, refused: number): void {
  const there = countsAt(counts, at.getTime())
  there.tokens += tokens
  there.refused += refused
}

function every(counts: Map<number, Counts>, width_ms: number, howMany: number, now_ms: number): CountsAt[] {
  const last_ms = now_ms - (now_ms % width_ms)
  return Array.from({ length: howMany }, (_, index) => {
    const at_ms = last_ms - (howMany - 1 - index) * width_ms
    return { at_ms, ...(counts.get(at_ms) ?? { tokens: 0, refused: 0 }) }
  })
}
