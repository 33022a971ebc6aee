import type { Queryable } from './postgres.ts'
import type { Scope } from './scopes.ts'

export type ClientStatus = 'Active' | 'Revoked'

/** What authenticating a client takes; all that the authorization server's role may read. */
export interface ClientCredentialsRecord {
  clientId: string
  vendorId: string
  scopes: Scope[]
  /** SHA-256 of the client secret, 32 bytes. */
  secretHash: Buffer
  status: ClientStatus
}

/** @returns the record, or undefined when no client has this id. */
export async function findClientCredentials(
  db: Queryable,
  clientId: string,
): Promise<ClientCredentialsRecord | undefined> {
  const { rows } = await db.raw(
    `select client_id as "clientId", vendor_id as "vendorId", scopes, secret_hash as "secretHash", status
     from oauth_clients where client_id = ?`,
    [clientId],
  )
  return rows[0]
}

export interface NewClient {
  clientId: string
  vendorId: string
  name: string
  scopes: readonly Scope[]
  secretHash: Buffer
  /** null: an operator. */
  createdBy: string | null
  createdAt: Date
}

export async function insertClient(db: Queryable, client: NewClient): Promise<void> {
  await db.raw(
    `insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash, created_at, created_by)
     values (?, ?, ?, ?, ?, ?, ?)`,
    [
      client.clientId,
      client.vendorId,
      client.name,
      client.scopes as string[],
      client.secretHash,
      client.createdAt,
      client.createdBy,
    ],
  )
}

/**
 * Turns an Active client to Revoked. `revoked_at` is the database's own time.
 * @returns false when it was Revoked already, or the company has no such client.
 */
export async function markClientRevoked(
  db: Queryable,
  client: { vendorId: string; clientId: string; revokedBy: string | null },
): Promise<boolean> {
  const { rowCount } = await db.raw(
    `update oauth_clients set status = 'Revoked', revoked_at = clock_timestamp(), revoked_by = ?
     where client_id = ? and vendor_id = ? and status = 'Active'`,
    [client.revokedBy, client.clientId, client.vendorId],
  )
  return rowCount === 1
}
