import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { type Actor, record } from '../accounts/activity.ts'
import {
  type ClientRecord,
  type FoundClient,
  type FoundSecret,
  findClient,
  insertClient,
  markClientRevoked,
  markFoundSecrets,
  type NewClient,
  setClientName,
} from './records.ts'

/** Inserts a client with its activity entry. Call it in a transaction. */
export async function createClient(
  transaction: Queryable,
  { createdBy, ...client }: Omit<NewClient, 'createdBy'> & { createdBy: Actor },
): Promise<void> {
  const { vendorId, clientId, name, scopes, replaces, expiresAt, authenticatesBy } = client
  await insertClient(transaction, { ...client, createdBy: userIdOf(createdBy) })
  const detail = {
    name,
    scopes,
    ...(replaces !== undefined && { replaces }),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
    ...('keyThumbprint' in authenticatesBy && { keyThumbprint: authenticatesBy.keyThumbprint }),
    ...('workload' in authenticatesBy && { workload: authenticatesBy.workload }),
  }
  await record(transaction, { vendorId, by: createdBy }, 'client.created', clientId, detail)
}

/** The tables of clients name no operator. */
const userIdOf = (actor: Actor | null): string | null => (typeof actor === 'string' ? actor : null)

class NoSuchClient extends Error {}

/**
 * Revokes a client and adds the activity entry. Once it resolves, no process of either service accepts the client
 * or a token of it. Revoking it again changes nothing and gives the same promise again.
 * @param client.revokedBy null: the service.
 * @param client.reason why the service does it, for the entry.
 * Returns undefined when the company has no such client.
 */
export async function revokeClient(
  revocation: Revocation,
  client: {
    vendorId: string
    clientId: string
    revokedBy: Actor | null
    reason?: ClientRecord['revokedBecause']
    onCommit?: () => void
  },
): Promise<ClientRecord | undefined> {
  const { vendorId, clientId, revokedBy, reason, onCommit } = client
  try {
    const commit = async (transaction: Queryable) => {
      const changed = await markClientRevoked(transaction, {
        vendorId,
        clientId,
        revokedBy: userIdOf(revokedBy),
      })
      const found = await findClient(transaction, { vendorId, clientId })
      // Thrown, since a normal return counts as revoked.
      if (!found) throw new NoSuchClient()
      if (changed) {
        const detail = { name: found.name, ...(reason && { reason }) }
        await record(transaction, { vendorId, by: revokedBy }, 'client.revoked', clientId, detail)
      }
      return found
    }
    return await revocation.revoke({ kind: 'client', id: clientId }, commit, onCommit)
  } catch (error) {
    if (error instanceof NoSuchClient) return undefined
    throw error
  }
}

/**
 * Renames a client and adds the activity entry. Call it in a transaction.
 * Returns undefined when the company has no such client.
 */
export async function renameClient(
  transaction: Queryable,
  { vendorId, clientId, name, userId }: { vendorId: string; clientId: string; name: string; userId: string },
): Promise<ClientRecord | undefined> {
  const before = await setClientName(transaction, { vendorId, clientId, name })
  if (before !== undefined && before !== name) {
    const detail = { before: { name: before }, after: { name } }
    await record(transaction, { vendorId, by: userId }, 'client.renamed', clientId, detail)
  }
  return findClient(transaction, { vendorId, clientId })
}

/** Marks the clients that have these secrets, with an activity entry each. Returns those not marked before. */
export function reportFoundSecrets(db: Database, secrets: readonly FoundSecret[]): Promise<FoundClient[]> {
  return db.transaction(async (transaction) => {
    const found = await markFoundSecrets(transaction, secrets)
    for (const { vendorId, clientId, name, source } of found)
      await record(transaction, { vendorId, by: null }, 'client.secret_found', clientId, { name, source })
    return found
  })
}
