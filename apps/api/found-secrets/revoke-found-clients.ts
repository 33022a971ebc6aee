import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { listFoundClients } from '../clients/records.ts'
import { revokeClient } from '../clients/revoke-client.ts'

/** Leaves connections for people. */
const CLIENTS_AT_ONCE = 5

/**
 * Revokes the clients whose secret was found, each once a round, so that one that cannot be revoked holds up
 * no other. It is a job that reads them from the database, so that none is lost if a process ends.
 * @throws AggregateError the failures, once all have been tried.
 */
export async function revokeFoundClients(db: Database, revocation: Revocation, isEnding: () => boolean) {
  const service = { revokedBy: null, reason: 'secret_found' } as const
  const tried: string[] = []
  const failures: unknown[] = []
  while (!isEnding()) {
    const clients = await listFoundClients(db, { except: tried, limit: CLIENTS_AT_ONCE })
    if (clients.length === 0) break
    const revoking = clients.map((client) => revokeClient(revocation, { ...client, ...service }))
    for (const outcome of await Promise.allSettled(revoking))
      if (outcome.status === 'rejected') failures.push(outcome.reason)
    tried.push(...clients.map(({ clientId }) => clientId))
  }
  if (failures.length > 0) throw new AggregateError(failures)
}
