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
    summary: 'Read what was seen of a client and its replacement',
    description:
      'When each was last used and from where, and the requests refused since the client was revoked.',
    by,
    answers: { 200: { description: 'What was seen of both.', schema: ClientRotation } },
    problems: ['not_found'],
    async handle({ vendorId, params }) {
      const old = await findClient(db, { vendorId, clientId: knownClientId(params.clientId) })
      if (!old) throw noSuchClient()
      return rotationAnswer({ db, redis, clock }, { vendorId, old })
    },
  })
