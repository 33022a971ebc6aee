import pg from 'pg'
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

/*
 * Stores events in one statement, so in one transaction and one round trip. It remembers the ids that are
 * new, stores their events, and adds what was stored to the days. A writer that meets an id of a statement
 * still running waits until that one has committed or failed, so an event counts exactly once. To exclude
 * deadlocks, every writer locks the ids, then the days, each in the same order, and last the company's
 * revision, which a trigger changes. A transaction must therefore store a company's events in one statement.
 * Writers of one company wait for each other only at the end of the statement, and those of different
 * companies never.
 */
const STORE = `
  with stored as (
    insert into analytics_events (vendor_id, event_id, type, date, occurred_at, quantity, amount_minor)
    select $1, event_id, type, date, to_timestamp(occurred_at_s), quantity, amount_minor
    from unnest($2::text[], $3::analytics_event_type[], $4::date[], $5::float8[], $6::bigint[], $7::bigint[],
        (select remember_which_are_new($1, $2)))
      as given (event_id, type, date, occurred_at_s, quantity, amount_minor, is_new)
    where is_new is not false
    returning type, date, occurred_at, quantity, amount_minor
  ), counted as (
    insert into analytics_daily as d (vendor_id, date, impressions, clicks, orders, units_sold, revenue_minor,
      boost_spend_minor, last_event_at, first_received_on)
    select $1, date,
      coalesce(sum(quantity) filter (where type = 'impression'), 0),
      coalesce(sum(quantity) filter (where type = 'click'), 0),
      count(*) filter (where type = 'order'),
      coalesce(sum(quantity) filter (where type = 'order'), 0),
      coalesce(sum(amount_minor) filter (where type = 'order'), 0),
      coalesce(sum(amount_minor) filter (where type = 'boost_spend'), 0),
      max(occurred_at), (now() at time zone 'UTC')::date
    from stored group by date order by date
    on conflict (vendor_id, date) do update set
      impressions = d.impressions + excluded.impressions,
      clicks = d.clicks + excluded.clicks,
      orders = d.orders + excluded.orders,
      units_sold = d.units_sold + excluded.units_sold,
      revenue_minor = d.revenue_minor + excluded.revenue_minor,
      boost_spend_minor = d.boost_spend_minor + excluded.boost_spend_minor,
      last_event_at = greatest(d.last_event_at, excluded.last_event_at)
  )
  select count(*) from stored`

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
  const query = { name: 'analytics_store', text: STORE, values }
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
  return state === CHECK_VIOLATION && error instanceof pg.DatabaseError && error.table === 'analytics_daily'
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
