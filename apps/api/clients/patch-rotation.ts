import type { Knex } from 'knex'
import { type ClientRecord, findClient } from '#shared/oauth/clients.ts'
import { Problem } from '#shared/problems/problems.ts'
import { type Route, route } from '../http/route.ts'
import { knownClientId, noSuchClient } from './client-answer.ts'
import type { ClientDependencies } from './dependencies.ts'
import { rotationAnswer } from './rotation-answer.ts'
import { armRevocation, disarmRevocation, putSecretAway } from './rotation-plans.ts'
import { ClientRotation, ClientRotationChange } from './schemas.ts'

export const patchRotation = ({ db, redis, clock, manager: by }: ClientDependencies): Route =>
  route({
    method: 'patch',
    path: '/v1/vendor/:vendorId/oauth-clients/:clientId/rotation',
    operationId: 'changeRotation',
    tag: 'Clients',
    summary: 'Arm the revocation of a client that has a replacement',
    description:
      'Armed, the client is revoked as soon as its state is `safe`. Any token that it gets before then disarms it.',
    by,
    body: ClientRotationChange,
    answers: { 200: { description: 'The state and its evidence.', schema: ClientRotation } },
    problems: ['not_found'],
    async handle({ vendorId, session: { userId }, params, body }) {
      const clientId = knownClientId(params.clientId)
      const at = new Date(clock.now())
      const old = await db.transaction(async (transaction) => {
        const client = await findClient(transaction, { vendorId, clientId })
        if (!client) throw noSuchClient()
        if (body.secretPutAway) {
          await putSecretAway(
            transaction,
            await replacementOf(transaction, vendorId, client, '/secretPutAway'),
            at,
          )
        }
        const one = { ...client, vendorId }
        if (body.armed === false) await disarmRevocation(transaction, one, { userId })
        if (body.armed) {
          await replacementOf(transaction, vendorId, client, '/armed')
          await armRevocation(transaction, one, { userId, at })
        }
        return client
      })
      return rotationAnswer({ db, redis, clock }, { vendorId, old })
    },
  })

/** @throws Problem invalid_input unless the client and one that replaces it are Active. */
async function replacementOf(
  transaction: Knex.Transaction,
  vendorId: string,
  { status, replacedBy }: ClientRecord,
  pointer: string,
): Promise<string> {
  const found = replacedBy !== null && (await findClient(transaction, { vendorId, clientId: replacedBy }))
  if (status === 'Active' && found && found.status === 'Active') return found.clientId
  throw new Problem('invalid_input', 'The client has no replacement.', {
    errors: [{ pointer, detail: 'is only possible while this client and its replacement are Active' }],
  })
}
