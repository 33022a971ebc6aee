import { z } from 'zod'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { recordActivity } from '../accounts/activity.ts'
import { route } from '../http/route.ts'
import { canWrite } from '../people/access.ts'
import type { UsageStores } from '../usage/windows.ts'
import { clientName, noSuchClient, OAuthClient, readClientAnswer, requireClientId } from './client.ts'
import { type ClientRecord, findClient, setClientName } from './records.ts'

const RenamedOAuthClient = z.strictObject({ name: clientName }).meta({ id: 'RenamedOAuthClient' })

export const renameClientRoute = route({
  method: 'patch',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId',
  operationId: 'renameClient',
  tag: 'Clients',
  summary: 'Rename a client',
  description: 'The name is a label. Nothing that affects access can be changed.',
  access: canWrite,
  body: RenamedOAuthClient,
  answers: { 200: { description: 'The client with its new name.', schema: OAuthClient } },
  problems: ['not_found'],
  async handle(
    { vendorId, session: { userId }, params, body: { name } },
    { db, redis, clock }: UsageStores & { db: Database },
  ) {
    const clientId = requireClientId(params.clientId)
    const client = await db.transaction((transaction) =>
      renameClient(transaction, { vendorId, clientId, name, userId }),
    )
    if (!client) throw noSuchClient()
    return readClientAnswer({ db, redis, clock }, vendorId, client)
  },
})

/**
 * Renames a client and adds the activity entry. Call it in a transaction.
 * Returns undefined when the company has no such client.
 */
async function renameClient(
  transaction: Queryable,
  { vendorId, clientId, name, userId }: { vendorId: string; clientId: string; name: string; userId: string },
): Promise<ClientRecord | undefined> {
  const before = await setClientName(transaction, { vendorId, clientId, name })
  if (before !== undefined && before !== name) {
    const detail = { before: { name: before }, after: { name } }
    await recordActivity(transaction, { vendorId, by: userId }, 'client.renamed', clientId, detail)
  }
  return findClient(transaction, { vendorId, clientId })
}
