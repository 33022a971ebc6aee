import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { sqlState } from '../stores/postgres-errors.ts'
import { queryPrepared } from '../stores/prepared-query.ts'
import type { DateRange } from './calendar.ts'
import { type AnalyticsEvent, DAY_OPEN_TO_IMPORTS_DAYS } from './event.ts'

/* All SQL of events, event ids, daily figures and revisions. event-partitions.ts deletes what is old. */

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

/**
 * Returns the current revision of each company's daily figures, which changes whenever they do. It is
 * undefined for a company that never had a day.
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

/** Returns whether the tables of this module may be spread over machines (infra/database/citus.sql). */
export async function mayBeDistributed(db: Database): Promise<boolean> {
  const { rows } = await db.raw(`select from pg_extension where extname = 'citus'`)
  return rows.length > 0
}

export interface StoredDays {
  /** The revision at the time of this read, as from `readRevisions`. */
  revision: string | undefined
  /** Oldest first; a day that was never reported is left out. */
  days: DayFigures[]
  /** The time of the company's newest event, Unix time in ms. */
  newestEvent_ms: number | undefined
}

/** Returns the stored days of a range with their revision, all as of one moment. */
export async function readStoredDays(
  db: Database,
  { vendorId, from, to }: { vendorId: string } & DateRange,
): Promise<StoredDays> {
  const [row] = await queryPrepared<[string | null, DayFigures[] | null, number | null]>(db, {
    name: 'analytics_daily_range',
    text: `select
        (select revision from analytics_revisions where vendor_id = $1),
        (select json_agg(day) from (
          select date, impressions, clicks, orders, units_sold as "unitsSold",
            revenue_minor as "revenueMinor", boost_spend_minor as "boostSpendMinor"
          from analytics_daily where vendor_id = $1 and date between $2 and $3 order by date) day),
        (select floor(extract(epoch from last_event_at) * 1000)::bigint
          from analytics_daily where vendor_id = $1 order by date desc limit 1)`,
    values: [vendorId, from, to],
  })
  const [revision, days, newestEvent_ms] = row ?? []
  return { revision: revision ?? undefined, days: days ?? [], newestEvent_ms: newestEvent_ms ?? undefined }
}

/**
 * Returns the dates that an import may not add to. Some of their event ids may have been deleted, so that a
 * repeat would count again. A date without figures is open.
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

/** With these events a total of a day would exceed 2^53 − 1. Nothing was stored. */
export class SumTooLargeError extends Error {}

export interface StoredEvents {
  accepted: number
  /** Ids that were already remembered, or came earlier in the same call. */
  duplicates: number
}

/**
 * Stores events of one company and counts them into their days, each id once, all or nothing. They are
 * committed when it resolves.
 * @throws SumTooLargeError
 */
export async function storeEvents(
  db: Database,
  vendorId: string,
  events: readonly AnalyticsEvent[],
): Promise<StoredEvents> {
  const values = storeValues(vendorId, firstOfEachId(events))
  const text = 'select store_analytics_events ($1, $2, $3, $4, $5, $6, $7)'
  const query = { name: 'analytics_store', text, values }
  const [[accepted] = [0]] = await queryPrepared<[number]>(db, query).catch((error) => {
    throw isSumTooLarge(error) ? new SumTooLargeError('a total of a day would pass 2^53 - 1') : error
  })
  return { accepted, duplicates: events.length - accepted }
}

/** In an order that all writers share. */
function firstOfEachId(events: readonly AnalyticsEvent[]): AnalyticsEvent[] {
  // A stable sort: of equal ids the first stays the first.
  const sorted = events.toSorted(({ eventId: a }, { eventId: b }) => (a < b ? -1 : a > b ? 1 : 0))
  return sorted.filter(({ eventId }, index) => eventId !== sorted[index - 1]?.eventId)
}

function storeValues(vendorId: string, events: readonly AnalyticsEvent[]) {
  return [
    vendorId,
    events.map((event) => event.eventId),
    arrayLiteral(events.map((event) => event.type)),
    arrayLiteral(events.map((event) => event.date)),
    arrayLiteral(events.map((event) => event.occurredAt_ms / 1_000)),
    arrayLiteral(events.map((event) => event.quantity)),
    arrayLiteral(events.map((event) => event.amountMinor)),
  ]
}

/** An array in Postgres' notation, of values that need no quotes. pg would quote each, which takes longer. */
const arrayLiteral = (values: readonly (string | number | null)[]): string =>
  `{${values.map((value) => value ?? 'null').join(',')}}`

const CHECK_VIOLATION = '23514'
const NUMERIC_VALUE_OUT_OF_RANGE = '22003'

function isSumTooLarge(error: unknown): boolean {
  const state = sqlState(error)
  if (state === NUMERIC_VALUE_OUT_OF_RANGE) return true
  // A distributed Postgres forwards only the message, which names the constraint, or the shard.
  return state === CHECK_VIOLATION && (error as Error).message.includes('analytics_daily_')
}

/** Returns those of the events' ids that are remembered. */
export async function findRememberedIds(
  db: Database,
  vendorId: string,
  events: readonly AnalyticsEvent[],
): Promise<Set<string>> {
  // The limit keeps this a look-up in the key for each id, whatever the planner thinks of the table's size.
  const { rows } = await db.raw(
    `select id from unnest(?::text[]) as id where
       (select true from analytics_event_ids where vendor_id = ? and event_id = id limit 1)`,
    [events.map((event) => event.eventId), vendorId],
  )
  return new Set(rows.map((row: { id: string }) => row.id))
}
