import type { Queryable } from '#shared/stores/postgres.ts'

/** All SQL for callback_destinations, which holds one callback per company. */

export interface Destination {
  callbackUrl: string
  /** DNS answered when it was saved, with public addresses only. */
  verified: boolean
  updatedAt: Date
  updatedBy: string
  updatedByName: string
}

/** Returns undefined if the company never saved one. */
export async function findDestination(db: Queryable, vendorId: string): Promise<Destination | undefined> {
  const { rows } = await db.raw(
    `select d.callback_url as "callbackUrl", d.verified, d.updated_at as "updatedAt",
       d.updated_by as "updatedBy", u.name as "updatedByName"
     from callback_destinations d join users u on u.user_id = d.updated_by where d.vendor_id = ?`,
    [vendorId],
  )
  return rows[0]
}

/**
 * Returns the saved URL, or undefined, and keeps others from saving one until the transaction ends. A company
 * that never saved one has no row that could be locked.
 */
export async function lockCallbackUrl(transaction: Queryable, vendorId: string): Promise<string | undefined> {
  await transaction.raw(`select pg_advisory_xact_lock(hashtextextended('callback of ' || ?, 0))`, [vendorId])
  const { rows } = await transaction.raw(
    'select callback_url as "callbackUrl" from callback_destinations where vendor_id = ? for update',
    [vendorId],
  )
  return rows[0]?.callbackUrl
}

/** Saves the company's callback, replacing any earlier one. */
export async function saveDestination(
  db: Queryable,
  {
    vendorId,
    callbackUrl,
    verified,
    updatedAt,
    updatedBy,
  }: { vendorId: string } & Omit<Destination, 'updatedByName'>,
): Promise<void> {
  await db.raw(
    `insert into callback_destinations (vendor_id, callback_url, verified, updated_at, updated_by)
     values (?, ?, ?, ?, ?)
     on conflict (vendor_id) do update set callback_url = excluded.callback_url, verified = excluded.verified,
       updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
    [vendorId, callbackUrl, verified, updatedAt, updatedBy],
  )
}

/** Longer than a test send can take, so two never run at once. If a process dies, its lease expires. */
const TEST_LEASE_S = 15

/**
 * Marks the company's callback as being tested, for 15 s at most, in one statement for all processes. Returns
 * undefined if no callback is saved, or if a test of it is running. With `lease`, endTest ends only this test
 * and no later one.
 */
export async function beginTest(
  db: Queryable,
  vendorId: string,
): Promise<{ callbackUrl: string; lease: string } | undefined> {
  const { rows } = await db.raw(
    `update callback_destinations set test_until = clock_timestamp() + make_interval(secs => ?)
     where vendor_id = ? and (test_until is null or test_until < clock_timestamp())
     returning callback_url as "callbackUrl", test_until::text as lease`,
    [TEST_LEASE_S, vendorId],
  )
  return rows[0]
}

export async function endTest(
  db: Queryable,
  { vendorId, lease }: { vendorId: string; lease: string },
): Promise<void> {
  await db.raw(
    'update callback_destinations set test_until = null where vendor_id = ? and test_until = ?::timestamptz',
    [vendorId, lease],
  )
}
