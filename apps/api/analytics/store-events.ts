import pg from 'pg'
import type { Database } from '#shared/stores/postgres.ts'
import { sqlState } from '../stores/postgres-errors.ts'
import { queryPrepared } from '../stores/prepared-query.ts'
import type { AnalyticsEvent } from './event.ts'

/*
 * Storing events is one statement and so one transaction and one round trip: the ids that are new are
 * remembered, their events are stored, and the days are counted up from what was stored. A writer that meets
 * an id which another one is just storing waits until that one has committed or failed, so that an event
 * counts once whatever happens to either. Every writer takes ids, after all ids days, in the same order, and
 * last the revision of the company, which a trigger changes: none can wait in a circle, as long as a
 * transaction stores events of a company by one statement. Writers of one company meet in the rows of its
 * days and in its revision, for the end of the statement only; those of different companies share nothing.
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

/** With these events a sum of a day would pass 2^53 − 1. Nothing was stored. */
export class SumTooLargeError extends Error {}

export interface StoredEvents {
  accepted: number
  /** Ids that were already remembered, or came earlier in the same call. */
  duplicates: number
}

/**
 * Stores events of one company and counts them into their days, each id once, all or nothing; committed when
 * it resolves.
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

/** Which of the events' ids are remembered. */
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
