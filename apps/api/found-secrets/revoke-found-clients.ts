import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { listFoundClients } from '../clients/records.ts'
import { revokeClient } from '../clients/revoke-client.ts'

/** At a time, so that people keep some connections. */
const CLIENTS_AT_ONCE = 5

/**
 * Revokes marked clients, the first few of them. It asks the database instead of being called by the report, so that
 * neither the end of a process nor a failure can lose one.
 */
export async function revokeFoundClients(db: Database, revocation: Revocation): Promise<void> {
  const found = await listFoundClients(db, { limit: CLIENTS_AT_ONCE })
  const service = { revokedBy: null, reason: 'secret_found' } as const
  await Promise.all(found.map((client) => revokeClient(revocation, { ...client, ...service })))
}
