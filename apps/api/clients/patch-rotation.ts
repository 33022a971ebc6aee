import type { Knex } from 'knex'
import { type ClientRecord, findClient } from '#shared/oauth/clients.ts'
import { invalidMember } from '../http/input.ts'
import { type Route, route } from '../http/route.ts'
import { armRevocation, disarmRevocation } from './arming.ts'
import { knownClientId, noSuchClient } from './client-answer.ts'
import type { ClientDependencies } from './dependencies.ts'
import { rotationAnswer } from './rotation-answer.ts'
import { ClientRotation, ClientRotationChange } from './schemas.ts'

export const patchRotation = ({ db, redis, clock, changer: by }: ClientDependencies): Route =>
  route({
    method: 'patch',
    path: '/v1/vendor/:vendorId/oauth-clients/:clientId/rotation',
    operationId: 'changeRotation',
    tag: 'Clients',
    summary: 'Arm the revocation of a client that has a replacement',
    description:
      'Armed, the client is revoked once it has got no token for `quietDays` and its Active replacement was used. Each use of it restarts the count. `null` disarms it.',
    by,
    body: ClientRotationChange,
    answers: { 200: { description: 'What was seen of both.', schema: ClientRotation } },
    problems: ['not_found'],
    async handle({ vendorId, session: { userId }, params, body: { armed } }) {
      const clientId = knownClientId(params.clientId)
      const old = await db.transaction(async (transaction) => {
        const client = await findClient(transaction, { vendorId, clientId })
        if (!client) throw noSuchClient()
        if (armed === null) await disarmRevocation(transaction, { ...client, vendorId }, { userId })
        else {
          await requireReplacement(transaction, vendorId, client)
          const plan = { ...armed, armedAt: new Date(clock.now()), armedBy: userId }
          await armRevocation(transaction, { ...client, vendorId }, plan)
        }
        return client
      })
      return rotationAnswer({ db, redis, clock }, { vendorId, old })
    },
  })

/** @throws Problem invalid_input unless the client and one that replaces it are Active. */
async function requireReplacement(
  transaction: Knex.Transaction,
  vendorId: string,
  { status, replacedBy }: ClientRecord,
): Promise<void> {
  const found = replacedBy !== null && (await findClient(transaction, { vendorId, clientId: replacedBy }))
  if (status === 'Active' && found && found.status === 'Active') return
  throw invalidMember('/armed', 'is only possible while this client and its replacement are Active')
}
