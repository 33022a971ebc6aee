import type { Queryable } from '#shared/stores/postgres.ts'

/*
 * The restore fence: a row of `restore_fences` that has not been lowered refuses all access, since the
 * database may have been restored. Access is also refused while the database is not where it was confirmed.
 */

const CURRENT = 'from restore_fences where lowered_at is null'

/** SQL for whether a fence is up. */
export const FENCE_IS_UP = `exists (select ${CURRENT})`

/** SQL for whether the database is not where it was confirmed, as after a restore or a promotion. */
export const HAS_MOVED = 'not exists (select from revocation_trust where place = database_place())'

/** SQL for whether all access is refused. */
export const FENCED = `(${FENCE_IS_UP} or ${HAS_MOVED})`

/** SQL for why the current fence was raised; null without one. */
export const FENCE_REASON = `(select reason ${CURRENT})`

/** SQL for when the latest fence was lowered: the present while one is up, null if there never was one. */
export const FENCED_UNTIL = '(select max(coalesce(lowered_at, clock_timestamp())) from restore_fences)'

export interface Fence {
  raisedAt: Date
  /** How long ago that was, by the database's clock. Negative if the clock was set back. */
  age_ms: number
  reason: string
}

/** Returns the current fence; undefined if there is none. */
export async function readFence(db: Queryable): Promise<Fence | undefined> {
  const { rows } = await db.raw(
    `select raised_at as "raisedAt", reason,
       (extract(epoch from clock_timestamp() - raised_at) * 1000)::bigint as age_ms ${CURRENT}`,
  )
  return rows[0]
}

/**
 * Raises a fence, if there is none. From the commit on, Postgres refuses everyone; what Redis vouched for
 * before ends within `settle_ms`. Only `admin restore confirm` lowers it.
 */
export async function raiseFence(db: Queryable, reason: string): Promise<void> {
  await db.raw('insert into restore_fences (reason) values (?) on conflict do nothing', [reason])
}

/** Lowers the fence, if one is up. */
export async function lowerFence(db: Queryable): Promise<void> {
  await db.raw(`update restore_fences set lowered_at = clock_timestamp() where lowered_at is null`)
}

/**
 * Takes `pg_is_in_recovery()` and FENCED, as read by the statement whose answer counts.
 * @throws an Error with a `code` if the database is a standby, which may be behind its primary, or is fenced.
 */
export function assertPrimary({ standby, restored }: { standby?: boolean; restored?: boolean } = {}): void {
  const code = standby ? 'a standby answers' : restored && 'the database has yet to be confirmed'
  if (code) throw Object.assign(new Error(code), { code })
}
