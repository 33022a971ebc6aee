import { findClient } from '#shared/oauth/clients.ts'
import { type Route, route } from '../http/route.ts'
import { knownClientId, noSuchClient } from './client-answer.ts'
import type { ClientDependencies } from './dependencies.ts'
import { rotationAnswer } from './rotation-answer.ts'
import { ClientRotation } from './schemas.ts'

export const getRotation = ({ db, redis, clock, manager: by }: ClientDependencies): Route =>
  route({
    method: 'get',
    path: '/v1/vendor/:vendorId/oauth-clients/:clientId/rotation',
    operationId: 'readRotation',
    tag: 'Clients',
    summary: 'Read whether a client can be revoked',
    description: 'Judged by its uses and those of its replacement, if it has one.',
    by,
    answers: { 200: { description: 'The state and its evidence.', schema: ClientRotation } },
    problems: ['not_found'],
    async handle({ vendorId, params }) {
      const old = await findClient(db, { vendorId, clientId: knownClientId(params.clientId) })
      if (!old) throw noSuchClient()
      return rotationAnswer({ db, redis, clock }, { vendorId, old })
    },
  })
