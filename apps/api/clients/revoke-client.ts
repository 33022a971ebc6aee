import type { Clock } from '#shared/process/clock.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { revokeClient } from './changes.ts'
import { knownClientId, noSuchClient, oneClientAnswer } from './client-answer.ts'
import { OAuthClient } from './schemas.ts'

export const postRevoke = route({
  method: 'post',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId/revoke',
  // It may wait until the last lease has ended.
  deadline: 'own',
  operationId: 'revokeClient',
  tag: 'Clients',
  summary: 'Revoke a client permanently',
  description:
    'Once this response is sent, every new request from the client or with one of its tokens is refused. ' +
    'Revoking it again returns the same response.',
  by: canRead,
  answers: {
    200: {
      description: 'The client, now Revoked.',
      schema: OAuthClient,
    },
  },
  problems: ['not_found'],
  async handle(
    { vendorId, session, params },
    { db, redis, clock, revocation }: { db: Database; redis: Redis; clock: Clock; revocation: Revocation },
  ) {
    const clientId = knownClientId(params.clientId)
    const client = await revokeClient(revocation, { vendorId, clientId, revokedBy: session.userId })
    if (!client) throw noSuchClient()
    return oneClientAnswer({ db, redis, clock }, vendorId, client)
  },
})
