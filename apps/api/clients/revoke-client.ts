import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { type Actor, actorUserId, recordActivity } from '../accounts/activity.ts'
import { route } from '../http/route.ts'
import { canManage } from '../people/access.ts'
import type { UsageStores } from '../usage/windows.ts'
import { noSuchClient, OAuthClient, readClientAnswer, requireClientId } from './client.ts'
import { type ClientRecord, findClient, markClientRevoked } from './records.ts'

export const revokeClientRoute = route({
  method: 'post',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId/revoke',
  // It may wait until the last lease ends. It takes no turn, since no one's requests may hold it up.
  deadline: 'own',
  operationId: 'revokeClient',
  tag: 'Clients',
  summary: 'Revoke a client permanently',
  description:
    'Once this response is sent, every new request from the client or with one of its tokens is refused. ' +
    'Revoking it again returns the same response.',
  // Not canWrite: however much a company has changed, a leaked client can be revoked at once.
  access: canManage,
  answers: {
    200: { description: 'The client, now Revoked.', schema: OAuthClient },
  },
  problems: ['not_found'],
  async handle(
    { vendorId, session, params },
    { db, redis, clock, revocation }: UsageStores & { revocation: Revocation },
  ) {
    const clientId = requireClientId(params.clientId)
    const client = await revokeClient(revocation, { vendorId, clientId, revokedBy: session.userId })
    if (!client) throw noSuchClient()
    return readClientAnswer({ db, redis, clock }, vendorId, client)
  },
})

class NoSuchClient extends Error {}

/**
 * Revokes a client and adds the activity entry. Once it resolves, no process of either service accepts the
 * client or its tokens. It can be repeated, with the same guarantee. Returns undefined when the company has
 * no such client.
 * @param client.revokedBy null: the service.
 * @param client.reason why the service revokes it, for the entry.
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
      const isNewlyRevoked = await markClientRevoked(transaction, {
        vendorId,
        clientId,
        revokedBy: actorUserId(revokedBy),
      })
      const clientRecord = await findClient(transaction, { vendorId, clientId })
      // A return value would count as revoked.
      if (!clientRecord) throw new NoSuchClient()
      if (isNewlyRevoked) {
        const detail = { name: clientRecord.name, ...(reason && { reason }) }
        await recordActivity(transaction, { vendorId, by: revokedBy }, 'client.revoked', clientId, detail)
      }
      return clientRecord
    }
    return await revocation.revoke({ kind: 'client', id: clientId }, commit, onCommit)
  } catch (error) {
    if (error instanceof NoSuchClient) return undefined
    throw error
  }
}
