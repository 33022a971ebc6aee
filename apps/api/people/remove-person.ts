import type { Database } from '#shared/stores/postgres.ts'
import { record } from '../accounts/activity.ts'
import { route } from '../http/route.ts'
import { logSessionEnd } from '../sessions/session-end.ts'
import { ownerOnly } from './access.ts'
import { removePerson } from './changes.ts'
import { withdrawInvitation } from './invitations.ts'
import { holdAsOwner, knownUserId, orRefuse } from './person-answer.ts'

export const removePersonRoute = route({
  method: 'delete',
  path: '/v1/vendor/:vendorId/people/:userId',
  operationId: 'removePerson',
  tag: 'People',
  summary: 'Remove a person, or withdraw an invitation',
  description:
    'Owner only. Takes effect with the next request. Clients that the person created keep working.',
  by: ownerOnly,
  answers: { 204: { description: 'The person no longer belongs to the company.' } },
  problems: ['not_found', 'owner_required'],
  async handle({ vendorId, session, params }, { db }: { db: Database }, ctx) {
    const userId = knownUserId(params.userId)
    const ended = await db.transaction(async (transaction) => {
      await holdAsOwner(transaction, { vendorId, session })
      const withdrawn = await withdrawInvitation(transaction, { vendorId, userId })
      if (!withdrawn)
        return orRefuse(await removePerson(transaction, { vendorId, userId, by: session.userId }))
      const { name, email, role } = withdrawn
      const author = { vendorId, by: session.userId }
      await record(transaction, author, 'invitation.withdrawn', userId, { name, email, role })
      return []
    })
    for (const sessionId of ended)
      logSessionEnd(ctx.state.log, { userId, sessionId, why: 'person_removed', from: ctx })
    return undefined
  },
})
