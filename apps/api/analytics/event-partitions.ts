import type { Database } from '#shared/stores/postgres.ts'
import { EVENT_IDS_REMEMBERED_DAYS } from './event.ts'

/** Weekly partitions created in advance. If the job fails for longer, the default partition is used. */
const WEEKS_AHEAD = 4
/** A statement with so many ids takes about 50 ms, and a round of 20 less than the shutdown deadline. */
const IDS_PER_STATEMENT = 10_000
const STATEMENTS_PER_ROUND = 20

/** Events are kept for recounting and lookups; the daily figures do not need them. The minimum is 35. */
export const EVENT_RETENTION_DAYS_MIN = EVENT_IDS_REMEMBERED_DAYS
export const EVENT_RETENTION_DAYS_DEFAULT = 90

/**
 * Creates the partitions that will be needed, drops those whose events are all older than
 * `eventRetention_days`, and deletes old ids. Any process may call it at any time, because Postgres runs one
 * call at a time. The work is done by database functions that enforce the limits themselves, since the
 * service's role may neither create or drop a table nor delete an event or an id. Returns the names of the
 * partitions, and how many ids it deleted.
 */
export async function maintainEventPartitions(
  db: Database,
  { eventRetention_days }: { eventRetention_days: number },
) {
  const created = await names(db, 'select create_analytics_event_partitions(?) as name', WEEKS_AHEAD)
  const dropped = await names(db, 'select drop_old_analytics_events(?) as name', eventRetention_days)
  let forgottenIds = 0
  for (let statement = 1; statement <= STATEMENTS_PER_ROUND; statement++) {
    const { rows } = await db.raw('select forget_old_analytics_event_ids(?) as n', [IDS_PER_STATEMENT])
    forgottenIds += rows[0].n
    if (rows[0].n < IDS_PER_STATEMENT) break
  }
  return { created, dropped, forgottenIds }
}

async function names(db: Database, sql: string, binding: number): Promise<string[]> {
  const { rows } = await db.raw(sql, [binding])
  return rows.map((row: { name: string }) => row.name)
}
