import { FENCED_UNTIL } from '#shared/revocation/fence.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/** A process that is silent for this long may be gone, with its counts: even when idle it writes sooner. */
const SILENT_S = 60
/** Without Postgres a process issues no token for longer than this: no client record is cached as long. */
const LAST_TOKEN_S = 600

/**
 * Usage is complete only after the returned time. Before it, the database was restored, or a process dropped
 * counts or vanished; it is now while that goes on. By the database's clock. Undefined if nothing is missing.
 * @throws if Postgres does not answer.
 */
export async function usesMissingBefore(db: Queryable): Promise<Date | undefined> {
  const { rows } = await db.raw(
    `select greatest(
       ${FENCED_UNTIL},
       (select max(lost_at) from usage_writers),
       (select max(least(clock_timestamp(), flushed_at + make_interval(secs => ?))) from usage_writers
        where flushed_at < clock_timestamp() - make_interval(secs => ?))) as at`,
    [LAST_TOKEN_S, SILENT_S],
  )
  return rows[0].at ?? undefined
}
