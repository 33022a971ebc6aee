/*
 * The restore fence: a row of `restore_fences` that has not been lowered refuses all access, since the
 * database may have been restored. Access is also refused while the database is not where it was confirmed.
 */

/** SQL for whether a fence is up. */
export const FENCE_IS_UP = 'exists (select from restore_fences where lowered_at is null)'

/** SQL for whether the database is not where it was confirmed, as after a restore or a promotion. */
export const HAS_MOVED = 'not exists (select from revocation_trust where place = database_place())'

/** SQL for whether all access is refused. */
export const FENCED = `(${FENCE_IS_UP} or ${HAS_MOVED})`

/** SQL for when the latest fence was lowered: the present while one is up, null if there never was one. */
export const FENCED_UNTIL = '(select max(coalesce(lowered_at, clock_timestamp())) from restore_fences)'

/**
 * Takes `pg_is_in_recovery()` and FENCED, as read by the statement whose answer counts.
 * @throws an Error with a `code` if the database is a standby, which may be behind its primary, or is fenced.
 */
export function assertPrimary({ standby, restored }: { standby?: boolean; restored?: boolean } = {}): void {
  const code = standby ? 'a standby answers' : restored && 'the database has yet to be confirmed'
  if (code) throw Object.assign(new Error(code), { code })
}
