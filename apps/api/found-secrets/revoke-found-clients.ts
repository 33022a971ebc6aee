import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { listFoundClients } from '../clients/records.ts'
import { revokeClient } from '../clients/revoke-client.ts'

/** Leaves connections for people. */
const CLIENTS_PER_ROUND = 5

/**
 * Revokes a few of the clients whose secret was found. It is a job that reads them from the database, so that
 * none is lost if a process ends or a revocation fails.
 */
export async function revokeFoundClients(db: Database, revocation: Revocation): Promise<void> {
  const clients = await listFoundClients(db, { limit: CLIENTS_PER_ROUND })
  const service = { revokedBy: null, reason: 'secret_found' } as const
  await Promise.all(clients.map((client) => revokeClient(revocation, { ...client, ...service })))
}
