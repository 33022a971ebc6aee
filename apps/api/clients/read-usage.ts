import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { readUsageOf } from '../usage/history.ts'
import type { UsageStores } from '../usage/windows.ts'
import { knownClientId, noSuchClient } from './client-answer.ts'
import { findClient } from './records.ts'
import { OAuthClientUsage } from './schemas.ts'

export const getUsage = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId/usage',
  operationId: 'readUsage',
  tag: 'Clients',
  summary: 'Read the usage of a client',
  description: 'Tokens issued to the client, and its requests that either service refused.',
  by: canRead,
  answers: { 200: { description: 'Its usage.', schema: OAuthClientUsage } },
  problems: ['not_found'],
  async handle({ vendorId, params }, stores: UsageStores) {
    const client = await findClient(stores.db, { vendorId, clientId: knownClientId(params.clientId) })
    if (!client) throw noSuchClient()
    const { hours, minutes, scopes, addresses } = await readUsageOf(stores, client.clientId)
    return {
      hours: hours.map(({ at, ...counts }) => ({ hour: at.toISOString(), ...counts })),
      minutes: minutes.map(({ at, ...counts }) => ({ minute: at.toISOString(), ...counts })),
      scopes: client.scopes.map((scope) => ({
        scope,
        lastUsedAt: scopes.get(scope)?.toISOString() ?? null,
      })),
      addresses: addresses.map(({ lastSeenAt, ...address }) => ({
        ...address,
        lastSeenAt: lastSeenAt.toISOString(),
      })),
    }
  },
})
