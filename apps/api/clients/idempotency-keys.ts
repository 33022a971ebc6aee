import type { Knex } from 'knex'
import type { Queryable } from '#shared/stores/postgres.ts'

/** How long a repeat with the same Idempotency-Key returns the first client. */
export const CREATION_KEY_LIFETIME_MS = 24 * 3_600_000

export interface CreationKey {
  vendorId: string
  userId: string
  idempotencyKey: string
}

/**
 * Locks the key until the transaction ends.
 * @returns false if another transaction holds it.
 */
export async function tryLockCreationKey(transaction: Knex.Transaction, key: CreationKey): Promise<boolean> {
  const { rows } = await transaction.raw(
    `select pg_try_advisory_xact_lock(hashtextextended('client creation ' || ?, 0)) as locked`,
    [JSON.stringify([key.vendorId, key.userId, key.idempotencyKey])],
  )
  return rows[0].locked
}

export async function findCreation(
  db: Queryable,
  { vendorId, userId, idempotencyKey }: CreationKey,
  since: Date,
): Promise<{ clientId: string; requestHash: Buffer } | undefined> {
  const { rows } = await db.raw(
    `select client_id as "clientId", request_hash as "requestHash" from client_creation_keys
     where vendor_id = ? and user_id = ? and idempotency_key = ? and created_at > ?`,
    [vendorId, userId, idempotencyKey, since],
  )
  return rows[0]
}

/** Remembers the creation, replacing an expired one under the same key. */
export async function saveCreation(
  db: Queryable,
  { vendorId, userId, idempotencyKey }: CreationKey,
  creation: { clientId: string; requestHash: Buffer; createdAt: Date },
): Promise<void> {
  await db.raw(
    `insert into client_creation_keys (vendor_id, user_id, idempotency_key, request_hash, client_id, created_at)
     values (?, ?, ?, ?, ?, ?)
     on conflict (vendor_id, user_id, idempotency_key) do update
       set request_hash = excluded.request_hash, client_id = excluded.client_id, created_at = excluded.created_at`,
    [vendorId, userId, idempotencyKey, creation.requestHash, creation.clientId, creation.createdAt],
  )
}

/** Deletes at most `limit` expired keys. Returns their number. */
export async function deleteExpiredCreations(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const { rowCount } = await db.raw(
    `delete from client_creation_keys where (vendor_id, user_id, idempotency_key) in
       (select vendor_id, user_id, idempotency_key from client_creation_keys
        where created_at <= ? order by created_at limit ?)`,
    [before, limit],
  )
  return rowCount
}
