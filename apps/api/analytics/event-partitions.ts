import { integer } from '#shared/process/config.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type Purge, purgeByFunction } from '../stores/purge.ts'
import { EVENT_IDS_REMEMBERED_DAYS_MIN } from './event.ts'

const DAY_MS = 24 * 3_600_000
/** Weekly partitions created in advance. If the job fails for longer, the default partition is used. */
const WEEKS_AHEAD = 4

const DAYS_MAX = 3_650

/** How long rows are kept. The functions of the database have the same minimum. */
export const EVENT_SHAPE = {
  EVENT_RETENTION_DAYS: integer(EVENT_IDS_REMEMBERED_DAYS_MIN, DAYS_MAX, 90).meta({
    unit: 'days',
    description: 'how long individual events are kept; daily figures are kept permanently',
  }),
  EVENT_IDS_REMEMBERED_DAYS: integer(
    EVENT_IDS_REMEMBERED_DAYS_MIN,
    DAYS_MAX,
    EVENT_IDS_REMEMBERED_DAYS_MIN,
  ).meta({
    unit: 'days',
    description: 'how long an event sent again is recognised by its id, at most `EVENT_RETENTION_DAYS`',
  }),
}
export type EventSettings = { [Name in keyof typeof EVENT_SHAPE]: number }

/*
 * Database functions do the work and enforce the limits, since the service's role may neither create or drop
 * a table nor delete an event or an id.
 */

/** Creates the partitions that will be needed, unless another process is doing so. Returns their names. */
export async function createEventPartitions(db: Database): Promise<string[]> {
  const { rows } = await db.raw('select create_analytics_event_partitions(?) as name', [WEEKS_AHEAD])
  return rows.map((row: { name: string }) => row.name)
}

/** Returns the purges of weeks of events, of events outside the weekly partitions, and of their ids. */
export function listEventPurges(settings: EventSettings): Purge[] {
  const { EVENT_RETENTION_DAYS: retention_days, EVENT_IDS_REMEMBERED_DAYS: remembered_days } = settings
  const kept_ms = retention_days * DAY_MS
  return [
    purgeByFunction({
      kind: 'analytics_events',
      // When the oldest week ended.
      oldest: `select to_date(min(right(relname, 8)), 'YYYYMMDD') + 7
        from pg_inherits join pg_class c on c.oid = inhrelid
        where inhparent = 'analytics_events'::regclass and relname ~ '^analytics_events_[0-9]{8}$'`,
      kept_ms,
      call: () => `(select count(*) from drop_old_analytics_events(${retention_days}))`,
    }),
    purgeByFunction({
      kind: 'analytics_events_default',
      oldest: 'select min(received_at) from analytics_events_default',
      kept_ms,
      call: (limit) => `delete_old_default_events(${retention_days}, ${limit})`,
    }),
    purgeByFunction({
      kind: 'analytics_event_ids',
      oldest: 'select min(received_on) from analytics_event_ids',
      // For whole days after the one on which they came.
      kept_ms: (remembered_days + 1) * DAY_MS,
      call: (limit) => `forget_old_analytics_event_ids(${remembered_days}, ${limit})`,
    }),
  ]
}
