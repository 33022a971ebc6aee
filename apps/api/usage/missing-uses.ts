import { FENCED_UNTIL } from '#shared/revocation/fence.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/**
 * A process that has not written for this long may have vanished with its counts. Idle ones write more often.
 */
const SILENT_S = 60
/**
 * How long a process may issue tokens without Postgres. No client record is cached for longer. A read-only
 * Postgres sets no such limit, so this counts from the next write of a process with the same role.
 */
const LAST_TOKEN_S = 600

/**
 * Returns the time, by the database's clock, before which uses may be missing: the database was restored, or
 * a process dropped counts, vanished or could not write. While one of these lasts, that time is now. Returns
 * undefined if nothing is missing.
 * @throws if Postgres does not answer.
 */
export async function readUsesMissingBefore(db: Queryable): Promise<Date | undefined> {
  const { rows } = await db.raw(
    `select greatest(
       ${FENCED_UNTIL},
       (select max(lost_at) from usage_writers),
       (select max(least(clock_timestamp(), missed_at + make_interval(secs => ?))) from usage_writers
        where flushed_at < clock_timestamp() - make_interval(secs => ?))) as at`,
    [LAST_TOKEN_S, SILENT_S],
  )
  return rows[0].at ?? undefined
}
