import type { Queryable } from '#shared/stores/postgres.ts'

/**
 * A process that has stored nothing for this long may be gone, with what it had counted. It writes far more often, even
 * if it has nothing to store.
 */
const SILENT_S = 60
/** Without Postgres a process issues no token for longer than this, since no client record is remembered as long. */
const LAST_TOKEN_S = 600

/**
 * Returns the latest time before which tokens may have been issued that no usage tells of: the database was restored, a
 * process had to drop what it had counted, or one vanished. It is the present while any of these may go on. By the
 * database's clock. Undefined if every use was counted.
 * @throws if Postgres does not answer.
 */
export async function usesMissingBefore(db: Queryable): Promise<Date | undefined> {
  const { rows } = await db.raw(
    `select greatest(
       (select max(coalesce(lowered_at, clock_timestamp())) from restore_fences),
       (select max(lost_at) from usage_writers),
       (select max(least(clock_timestamp(), flushed_at + make_interval(secs => ?))) from usage_writers
        where flushed_at < clock_timestamp() - make_interval(secs => ?))) as at`,
    [LAST_TOKEN_S, SILENT_S],
  )
  return rows[0].at ?? undefined
}
