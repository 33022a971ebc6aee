import { normalizedEmail } from '#shared/accounts/people.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/** An address counts as known for this long after the last sign-in from it. */
const KNOWN_FOR_MS = 30 * 24 * 3_600_000
const KNOWN_PER_USER_MAX = 10

/** Returns whether the account, if it exists, was recently signed in to from this address. */
export async function isKnownAddress(
  db: Queryable,
  { email, address, now_ms }: { email: string; address: string; now_ms: number },
): Promise<boolean> {
  const { rows } = await db.raw(
    `select from sign_in_addresses join users using (user_id) where email = ? and address = ? and last_at > ?`,
    [normalizedEmail(email), address, new Date(now_ms - KNOWN_FOR_MS)],
  )
  return rows.length > 0
}

/** Remembers where a user signed in from: their ten latest addresses. Call it in a transaction. */
export async function rememberAddress(
  transaction: Queryable,
  { userId, address, now }: { userId: string; address: string; now: Date },
): Promise<void> {
  await transaction.raw(
    `insert into sign_in_addresses (user_id, address, last_at) values (?, ?, ?)
     on conflict (user_id, address) do update set last_at = excluded.last_at`,
    [userId, address, now],
  )
  await transaction.raw(
    `delete from sign_in_addresses where user_id = ? and address not in
       (select address from sign_in_addresses where user_id = ? order by last_at desc limit ?)`,
    [userId, userId, KNOWN_PER_USER_MAX],
  )
}

/** Removes at most `limit` that are no longer known. Returns the count. */
export async function deleteOldAddresses(
  db: Queryable,
  { now_ms, limit }: { now_ms: number; limit: number },
): Promise<number> {
  const { rowCount } = await db.raw(
    `delete from sign_in_addresses where (user_id, address) in
       (select user_id, address from sign_in_addresses where last_at <= ? order by last_at limit ?)`,
    [new Date(now_ms - KNOWN_FOR_MS), limit],
  )
  return rowCount
}
