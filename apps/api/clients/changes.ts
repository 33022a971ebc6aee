import type { Database } from '#shared/stores/postgres.ts'
import { record } from '../accounts/activity.ts'
import { type FoundClient, type FoundSecret, markFoundSecrets } from './records.ts'

/** Marks the clients that have these secrets, with an activity entry each. Returns those not marked before. */
export function reportFoundSecrets(db: Database, secrets: readonly FoundSecret[]): Promise<FoundClient[]> {
  return db.transaction(async (transaction) => {
    const found = await markFoundSecrets(transaction, secrets)
    for (const { vendorId, clientId, name, source } of found)
      await record(transaction, { vendorId, by: null }, 'client.secret_found', clientId, { name, source })
    return found
  })
}
