import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { queryPrepared } from '../stores/prepared-query.ts'
import { DAY_OPEN_TO_IMPORTS_DAYS } from './event.ts'

/** Events may be reported this long after they occurred, so a day may change this long after its end. */
export const LATE_EVENTS_MS = 72 * 3_600_000

/** The reported figures of a day. Amounts are in minor units of the company's currency. */
export interface DayFigures {
  date: string
  impressions: number
  clicks: number
  orders: number
  unitsSold: number
  revenueMinor: number
  boostSpendMinor: number
}

export interface DailyRange {
  vendorId: string
  /** First and last date, inclusive. */
  from: string
  to: string
}

/**
 * The current revision of each company's daily figures; it changes whenever they do. Undefined for a
 * company that never had a day.
 */
export async function readRevisions(
  db: Database,
  vendorIds: readonly string[],
): Promise<(string | undefined)[]> {
  const distinct = [...new Set(vendorIds)]
  const rows = await queryPrepared<[string, string]>(db, {
    name: 'analytics_revisions',
    text: 'select vendor_id, revision from analytics_revisions where vendor_id = any ($1)',
    values: [distinct],
  })
  const revisions = new Map(rows)
  return vendorIds.map((vendorId) => revisions.get(vendorId))
}

export interface StoredDays {
  /** The revision at the time of this read, as from `readRevisions`. */
  revision: string | undefined
  /** Oldest first; a day that was never reported is left out. */
  days: DayFigures[]
  /** The time of the company's newest event, Unix time in ms. */
  newestEvent_ms: number | undefined
}

/** The stored days of a range with their revision, all as of one moment. */
export async function readStoredDays(db: Database, { vendorId, from, to }: DailyRange): Promise<StoredDays> {
  const [row] = await queryPrepared<[string | null, DayFigures[] | null, number | null]>(db, {
    name: 'analytics_daily_range',
    text: `select
        (select revision from analytics_revisions where vendor_id = $1),
        (select json_agg(day) from (
          select date, impressions, clicks, orders, units_sold as "unitsSold", revenue_minor as "revenueMinor",
            boost_spend_minor as "boostSpendMinor"
          from analytics_daily where vendor_id = $1 and date between $2 and $3 order by date) day),
        (select floor(extract(epoch from last_event_at) * 1000)::bigint
          from analytics_daily where vendor_id = $1 order by date desc limit 1)`,
    values: [vendorId, from, to],
  })
  const [revision, days, newestEvent_ms] = row ?? []
  return { revision: revision ?? undefined, days: days ?? [], newestEvent_ms: newestEvent_ms ?? undefined }
}

/**
 * Which of these dates an import may not add to: those with figures whose event ids may be partly forgotten,
 * so that a repeat could not be told from a new event. A date without figures is open.
 */
export async function datesClosedToImports(
  db: Queryable,
  vendorId: string,
  dates: readonly string[],
): Promise<Set<string>> {
  const { rows } = await db.raw(
    `select date from analytics_daily where vendor_id = ? and date = any (?::date[])
       and (first_received_on is null or first_received_on < (now() at time zone 'UTC')::date - ?::int)`,
    [vendorId, dates as string[], DAY_OPEN_TO_IMPORTS_DAYS],
  )
  return new Set(rows.map((row: { date: string }) => row.date))
}
