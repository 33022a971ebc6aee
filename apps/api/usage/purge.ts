import type { Database } from '#shared/stores/postgres.ts'
import { DAY_MS, HOUR_MS, HOURS_SHOWN, MINUTE_MS, MINUTES_SHOWN } from './windows.ts'

/** Longer than usage is shown, because counts can be stored late. */
const RETENTION_MS = {
  client_usage_hourly: HOURS_SHOWN * HOUR_MS + DAY_MS,
  client_usage_by_minute: 2 * MINUTES_SHOWN * MINUTE_MS,
  // Whoever revokes a client wants to know which machines used it.
  client_address_usage: 100 * DAY_MS,
}
const TIME_COLUMN = {
  client_usage_hourly: 'hour',
  client_usage_by_minute: 'minute',
  client_address_usage: 'day',
}
/** Per client and day. The latest are kept. */
const ADDRESSES_MAX = 200

/** Deletes usage that is no longer shown, at most `limit` rows of each table. Returns how many it deleted. */
export async function deleteOldUsage(
  db: Database,
  { now_ms, limit }: { now_ms: number; limit: number },
): Promise<number> {
  let deleted = 0
  for (const table of ['client_usage_hourly', 'client_usage_by_minute', 'client_address_usage'] as const) {
    const column = TIME_COLUMN[table]
    const { rowCount } = await db.raw(
      `delete from ${table} where ctid = any(array(
         select ctid from ${table} where ${column} < ? order by ${column} limit ?))`,
      [new Date(now_ms - RETENTION_MS[table]), limit],
    )
    deleted += rowCount
  }
  await db.raw(DELETE_SURPLUS_ADDRESSES, [new Date(now_ms - DAY_MS)])
  await db.raw(DELETE_OLD_WRITERS)
  return deleted
}

/** A client that keeps calling from new addresses would fill the table. */
const DELETE_SURPLUS_ADDRESSES = `
  with crowded as (
    select client_id, day from client_address_usage
    where day >= ? group by 1, 2 having count(*) > ${ADDRESSES_MAX}
  ), ranked as (
    select a.ctid,
      row_number() over (partition by client_id, day order by last_seen_at desc, address) as place
    from client_address_usage a join crowded using (client_id, day)
  )
  delete from client_address_usage where ctid in (select ctid from ranked where place > ${ADDRESSES_MAX})`

/** Keeps the row of the process that vanished last, because readUsesMissingBefore needs its time. */
const DELETE_OLD_WRITERS = `
  delete from usage_writers where flushed_at < (
    select max(flushed_at) from usage_writers where flushed_at < clock_timestamp() - interval '1 day')`
