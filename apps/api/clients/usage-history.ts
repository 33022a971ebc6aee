import { type Counts, countsAt, readPendingOf } from './pending-usage.ts'
import {
  ADDRESS_AGE_MAX_MS,
  ADDRESSES_SHOWN,
  HOUR_MS,
  HOURS_SHOWN,
  MINUTE_MS,
  MINUTES_SHOWN,
  type UsageStores,
} from './usage-windows.ts'

export interface CountsAt extends Counts {
  /** The start of the hour or minute. */
  at_ms: number
}

export interface UsageHistory {
  /** Every one, oldest first. */
  hours: CountsAt[]
  minutes: CountsAt[]
  /** When each scope was last used. */
  scopes: ReadonlyMap<string, number>
  /** The latest first. */
  addresses: { address: string; tokens: number; seenAt_ms: number }[]
}

/** The usage of one client: stored in Postgres, and pending in Redis. Without Redis, only the stored part. */
export async function readUsageOf(
  { db, redis, clock }: UsageStores,
  clientId: string,
): Promise<UsageHistory> {
  const now_ms = clock.now()
  // Reads pending usage first. Usage stored between the two reads is then briefly counted twice instead of missing.
  const pending = await readPendingOf(redis, clientId)
  const rows = async <Row>(sql: string, since_ms: number): Promise<Row[]> =>
    (await db.raw(sql, [clientId, new Date(since_ms)])).rows
  const [hours, minutes, scopes, addresses] = await Promise.all([
    rows<StoredCounts>(
      'select hour as at, tokens, refused from client_usage_hourly where client_id = ? and hour > ?',
      now_ms - HOURS_SHOWN * HOUR_MS,
    ),
    rows<StoredCounts>(
      'select minute as at, tokens, refused from client_usage_by_minute where client_id = ? and minute > ?',
      now_ms - MINUTES_SHOWN * MINUTE_MS,
    ),
    rows<{ scope: string; at: Date }>(
      'select scope, last_used_at as at from client_scope_usage where client_id = ? and last_used_at > ?',
      0,
    ),
    rows<StoredAddress>(
      'select address, tokens, last_seen_at as at from client_address_usage where client_id = ? and last_seen_at > ?',
      now_ms - ADDRESS_AGE_MAX_MS,
    ),
  ])
  for (const { at, tokens, refused } of hours) add(pending.hours, at, tokens, refused)
  for (const { at, tokens, refused } of minutes) add(pending.minutes, at, tokens, refused)
  for (const { scope, at } of scopes) {
    pending.scopes.set(scope, Math.max(pending.scopes.get(scope) ?? 0, at.getTime()))
  }
  for (const { address, tokens, at } of addresses) {
    const there = pending.addresses.get(address) ?? { tokens: 0, seenAt_ms: 0 }
    pending.addresses.set(address, {
      tokens: there.tokens + tokens,
      seenAt_ms: Math.max(there.seenAt_ms, at.getTime()),
    })
  }
  return {
    hours: every(pending.hours, HOUR_MS, HOURS_SHOWN, now_ms),
    minutes: every(pending.minutes, MINUTE_MS, MINUTES_SHOWN, now_ms),
    scopes: pending.scopes,
    addresses: [...pending.addresses]
      .map(([address, seen]) => ({ address, ...seen }))
      .sort((a, b) => b.seenAt_ms - a.seenAt_ms)
      .slice(0, ADDRESSES_SHOWN),
  }
}

interface StoredCounts extends Counts {
  at: Date
}

interface StoredAddress {
  address: string
  tokens: number
  at: Date
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
