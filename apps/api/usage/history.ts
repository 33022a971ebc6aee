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

interface Counts {
  /** The start of the hour or minute. */
  at: Date
  tokens: number
  refused: number
}

export interface UsageHistory {
  /** Every one, oldest first. */
  hours: Counts[]
  minutes: Counts[]
  /** When each scope was last used. */
  scopes: ReadonlyMap<string, Date>
  /** The addresses of the last 14 days (UTC) with this one, the latest first. */
  addresses: { address: string; tokens: number; lastSeenAt: Date; firstDay: string }[]
}

/** Returns the usage of one client. */
export async function readUsageOf({ db, clock }: UsageStores, clientId: string): Promise<UsageHistory> {
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
  const addresses = await db.raw(
    `select address, sum(tokens) filter (where day > from_day)::bigint as tokens,
       max(last_seen_at) as "lastSeenAt", min(day)::text as "firstDay"
     from client_address_usage, (select (?::timestamptz at time zone 'UTC')::date as from_day) as shown
     where client_id = ? group by address having max(day) > min(from_day) order by "lastSeenAt" desc, address limit ${ADDRESSES_SHOWN}`,
    since(DAYS_SHOWN * DAY_MS).toReversed(),
  )
  return {
    hours: every(hours.rows, HOUR_MS, HOURS_SHOWN, now_ms),
    minutes: every(minutes.rows, MINUTE_MS, MINUTES_SHOWN, now_ms),
    scopes: new Map(scopes.rows.map(({ scope, lastUsedAt }: ScopeRow) => [scope, lastUsedAt])),
    addresses: addresses.rows,
  }
}

interface ScopeRow {
  scope: string
  lastUsedAt: Date
}

function every(rows: readonly Counts[], width_ms: number, howMany: number, now_ms: number): Counts[] {
  const known = new Map(rows.map((counts) => [counts.at.getTime(), counts]))
  const last_ms = now_ms - (now_ms % width_ms)
  return Array.from({ length: howMany }, (_, index) => {
    const at_ms = last_ms - (howMany - 1 - index) * width_ms
    return known.get(at_ms) ?? { at: new Date(at_ms), tokens: 0, refused: 0 }
  })
}
