import type { Queryable } from '#shared/stores/postgres.ts'

/* Raises and lowers what shared/revocation/fence.ts reads. */

/** SQL for why the current fence was raised; null without one. */
export const FENCE_REASON = '(select reason from restore_fences where lowered_at is null)'

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
       (extract(epoch from clock_timestamp() - raised_at) * 1000)::bigint as age_ms from restore_fences
     where lowered_at is null`,
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

/** Keeps the current fence, if there is one, up until the transaction ends. For the operator's role. */
export async function holdFence(transaction: Queryable): Promise<void> {
  await transaction.raw('select from restore_fences where lowered_at is null for update')
}

/** Lowers the fence, if one is up. */
export async function lowerFence(db: Queryable): Promise<void> {
  await db.raw(`update restore_fences set lowered_at = clock_timestamp() where lowered_at is null`)
}
