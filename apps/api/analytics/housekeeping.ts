import { EVENT_IDS_REMEMBERED_DAYS } from '#shared/analytics/events.ts'
import type { Database } from '#shared/stores/postgres.ts'

/** Weekly partitions made in advance: how long the housekeeping may fail before the default one is needed. */
const WEEKS_AHEAD = 4
/** A statement with this many ids takes about 50 ms; a round of this many statements, less than a shutdown may wait. */
const IDS_FORGOTTEN_AT_ONCE = 10_000
const STATEMENTS_A_ROUND = 20

/** Events are for recounting and looking up; the daily figures do not need them. Less than 35 is not possible. */
export const EVENT_RETENTION_DAYS_MIN = EVENT_IDS_REMEMBERED_DAYS
export const EVENT_RETENTION_DAYS_DEFAULT = 90

export interface KeptInOrder {
  /** Names of partitions. */
  created: string[]
  dropped: string[]
  /** Ids older than the time for which they are remembered. */
  forgottenIds: number
}

/**
 * Makes the partitions that will be needed, drops those whose events are all older than `eventRetention_days`, and
 * forgets ids. Any process may call it at any time: Postgres lets one at a time work, in functions that hold the
 * limits themselves, for the service's role may neither make or drop a table nor delete an event or an id.
 */
export async function keepEventsInOrder(
  db: Database,
  { eventRetention_days }: { eventRetention_days: number },
): Promise<KeptInOrder> {
  const created = await names(db, 'select create_analytics_event_partitions(?) as name', WEEKS_AHEAD)
  const dropped = await names(db, 'select drop_old_analytics_events(?) as name', eventRetention_days)
  let forgottenIds = 0
  for (let statement = 1; statement <= STATEMENTS_A_ROUND; statement++) {
    const { rows } = await db.raw('select forget_old_analytics_event_ids(?) as n', [IDS_FORGOTTEN_AT_ONCE])
    forgottenIds += rows[0].n
    if (rows[0].n < IDS_FORGOTTEN_AT_ONCE) break
  }
  return { created, dropped, forgottenIds }
}

async function names(db: Database, sql: string, binding: number): Promise<string[]> {
  const { rows } = await db.raw(sql, [binding])
  return rows.map((row: { name: string }) => row.name)
}
