import type { Operator } from '#shared/accounts/activity.ts'
import * as changes from '#shared/oauth/client-changes.ts'
import { type ClientRecord, listClients } from '#shared/oauth/clients.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { OperatorError } from './operator.ts'
import { requireCompany } from './people.ts'

const PAGE_SIZE = 200

/** Lists the clients of a company, newest first. @throws OperatorError if there is no such company. */
export async function allClients(
  db: Database,
  { vendorId, status }: { vendorId: string; status: 'Active' | 'Revoked' | undefined },
): Promise<ClientRecord[]> {
  await requireCompany(db, vendorId)
  const clients: ClientRecord[] = []
  for (;;) {
    const page = await listClients(db, { vendorId, status, after: clients.at(-1), limit: PAGE_SIZE })
    clients.push(...page)
    if (page.length < PAGE_SIZE) return clients
  }
}

/**
 * Revokes a client. Once it resolves, every process of both services rejects the client and its tokens. It can be
 * repeated, with the same guarantee.
 * @throws OperatorError if the company has no such client.
 */
export async function revokeClient(
  { db, revocation }: { db: Database; revocation: Revocation },
  { vendorId, clientId, by }: { vendorId: string; clientId: string; by: Operator },
): Promise<ClientRecord> {
  await requireCompany(db, vendorId)
  const client = await changes.revokeClient(revocation, { vendorId, clientId, revokedBy: by })
  if (!client) throw new OperatorError(`${vendorId} has no client ${clientId}.`)
  return client
}
