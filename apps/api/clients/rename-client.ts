import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { route } from '../http/route.ts'
import { canWrite } from '../people/access.ts'
import { renameClient } from './changes.ts'
import { knownClientId, noSuchClient, oneClientAnswer } from './client-answer.ts'
import { OAuthClient, RenamedOAuthClient } from './schemas.ts'

export const patchClient = route({
  method: 'patch',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId',
  operationId: 'renameClient',
  tag: 'Clients',
  summary: 'Rename a client',
  description: 'The name is a label. Nothing that affects access can be changed.',
  by: canWrite,
  body: RenamedOAuthClient,
  answers: { 200: { description: 'The client with its new name.', schema: OAuthClient } },
  problems: ['not_found'],
  async handle(
    { vendorId, session: { userId }, params, body: { name } },
    { db, redis, clock }: { db: Database; redis: Redis; clock: Clock },
  ) {
    const clientId = knownClientId(params.clientId)
    const client = await db.transaction((transaction) =>
      renameClient(transaction, { vendorId, clientId, name, userId }),
    )
    if (!client) throw noSuchClient()
    return oneClientAnswer({ db, redis, clock }, vendorId, client)
  },
})
