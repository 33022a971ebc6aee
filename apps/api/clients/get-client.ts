import { findClient } from '#shared/oauth/clients.ts'
import { type Route, route } from '../http/route.ts'
import { knownClientId, noSuchClient, oneClientAnswer } from './client-answer.ts'
import type { ClientDependencies } from './dependencies.ts'
import { OAuthClient } from './schemas.ts'

export const getClient = ({ db, redis, clock, manager: by }: ClientDependencies): Route =>
  route({
    method: 'get',
    path: '/v1/vendor/:vendorId/oauth-clients/:clientId',
    operationId: 'readClient',
    tag: 'Clients',
    summary: 'Read a client',
    description: 'The secret is never shown again, only its last four characters.',
    by,
    answers: { 200: { description: 'The client.', schema: OAuthClient } },
    problems: ['not_found'],
    async handle({ vendorId, params }) {
      const client = await findClient(db, { vendorId, clientId: knownClientId(params.clientId) })
      if (!client) throw noSuchClient()
      return oneClientAnswer({ db, redis, clock }, vendorId, client)
    },
  })
