import type { Queryable } from '#shared/stores/postgres.ts'
import type { Account } from '../accounts/people.ts'
import { purgeByTime } from '../stores/purge.ts'

/* The table of links to set a new password. A new password ends all of its account, by a trigger. */

const PASSWORD_RESET_LIFETIME_MS = 3_600_000

/**
 * Adds a link, and ends those of other requests. Returns when it expires; undefined if a later request has
 * links. One after `now` is no later one: the clock was set back. Call it in a transaction that holds
 * lockAccount.
 */
export async function insertPasswordReset(
  transaction: Queryable,
  {
    userId,
    tokenHash,
    requestedAt,
    now,
  }: { userId: string; tokenHash: Buffer; requestedAt: Date; now: Date },
): Promise<Date | undefined> {
  const { rows } = await transaction.raw(
    `select from password_resets where user_id = ? and requested_at > ? and requested_at <= ?
       and expires_at > ? limit 1`,
    [userId, requestedAt, now, now],
  )
  if (rows.length > 0) return undefined
  const expiresAt = new Date(now.getTime() + PASSWORD_RESET_LIFETIME_MS)
  await transaction.raw('delete from password_resets where user_id = ? and requested_at <> ?', [
    userId,
    requestedAt,
  ])
  await transaction.raw(
    'insert into password_resets (token_hash, user_id, requested_at, expires_at) values (?, ?, ?, ?)',
    [tokenHash, userId, requestedAt, expiresAt],
  )
  return expiresAt
}

/** Returns the account of a link that has not ended. */
export async function findPasswordReset(
  db: Queryable,
  { tokenHash, now }: { tokenHash: Buffer; now: Date },
): Promise<Account | undefined> {
  const { rows } = await db.raw(
    `select user_id as "userId", email, name, password_hash as "passwordHash"
     from password_resets join users using (user_id) where token_hash = ? and expires_at > ?`,
    [tokenHash, now],
  )
  return rows[0]
}

/** Ends a link. Returns whether it had not ended. Of several concurrent calls, only one gets true. */
export async function deletePasswordReset(transaction: Queryable, tokenHash: Buffer): Promise<boolean> {
  const { rowCount } = await transaction.raw('delete from password_resets where token_hash = ?', [tokenHash])
  return rowCount === 1
}

export const PASSWORD_RESET_PURGE = purgeByTime({
  table: 'password_resets',
  key: 'token_hash',
  time: 'expires_at',
  kept_ms: 0,
})
