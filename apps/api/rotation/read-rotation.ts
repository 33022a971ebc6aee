import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { knownClientId, noSuchClient } from '../clients/client-answer.ts'
import { findClient } from '../clients/records.ts'
import { ClientRotation } from '../clients/schemas.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { rotationAnswer } from './rotation-answer.ts'

export const getRotation = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId/rotation',
  operationId: 'readRotation',
  tag: 'Clients',
  summary: 'Read what was seen of a client and its replacement',
  description:
    'When each was last used and from where, and the requests refused since the client was revoked.',
  by: canRead,
  answers: { 200: { description: 'What was seen of both.', schema: ClientRotation } },
  problems: ['not_found'],
  async handle({ vendorId, params }, { db, redis, clock }: { db: Database; redis: Redis; clock: Clock }) {
    const old = await findClient(db, { vendorId, clientId: knownClientId(params.clientId) })
    if (!old) throw noSuchClient()
    return rotationAnswer({ db, redis, clock }, { vendorId, old })
  },
})
