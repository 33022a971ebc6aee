import { revokeClient } from '#shared/oauth/client-changes.ts'
import { type Route, route } from '../http/route.ts'
import { knownClientId, noSuchClient, oneClientAnswer } from './client-answer.ts'
import type { ClientDependencies } from './dependencies.ts'
import { OAuthClient } from './schemas.ts'

export const postRevoke = ({ db, redis, clock, revocation, manager: by }: ClientDependencies): Route =>
  route({
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
    by,
    answers: {
      200: {
        description: 'The client, now Revoked.',
        schema: OAuthClient,
      },
    },
    problems: ['not_found'],
    async handle({ vendorId, session, params }) {
      const clientId = knownClientId(params.clientId)
      const client = await revokeClient(revocation, { vendorId, clientId, revokedBy: session.userId })
      if (!client) throw noSuchClient()
      return oneClientAnswer({ db, redis, clock }, vendorId, client)
    },
  })
