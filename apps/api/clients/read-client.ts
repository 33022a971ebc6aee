import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { knownClientId, noSuchClient, OAuthClient, oneClientAnswer } from './client.ts'
import { findClient } from './records.ts'

export const readClientRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId',
  operationId: 'readClient',
  tag: 'Clients',
  summary: 'Read a client',
  description: 'The secret is never shown again, only its last four characters.',
  by: canRead,
  answers: { 200: { description: 'The client.', schema: OAuthClient } },
  problems: ['not_found'],
  async handle({ vendorId, params }, { db, redis, clock }: { db: Database; redis: Redis; clock: Clock }) {
    const client = await findClient(db, { vendorId, clientId: knownClientId(params.clientId) })
    if (!client) throw noSuchClient()
    return oneClientAnswer({ db, redis, clock }, vendorId, client)
  },
})
