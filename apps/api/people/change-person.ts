import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { route } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { ownerOnly } from './access.ts'
import { changePerson } from './changes.ts'
import { holdAsOwner, knownUserId, memberAnswer, orRefuse } from './person-answer.ts'
import { Person, PersonChange } from './schemas.ts'

/** Handing a company over cannot be undone, and a stolen session must not be enough for it. */
const SIGN_IN_MAX_AGE_MS = 15 * 60_000

export const changePersonRoute = route({
  method: 'patch',
  path: '/v1/vendor/:vendorId/people/:userId',
  operationId: 'changePerson',
  tag: 'People',
  summary: 'Change the role or status of a person',
  description:
    'Owner only. Takes effect with the next request. Giving someone the role owner transfers the company to them, ' +
    'and the current owner becomes an admin. That needs a sign-in within the last 15 minutes.',
  by: ownerOnly,
  body: PersonChange,
  answers: { 200: { description: 'The updated person.', schema: Person } },
  problems: ['not_found', 'owner_required', 'recent_sign_in_required'],
  async handle({ vendorId, session, params, body }, { db, clock }: { db: Database; clock: Clock }) {
    const userId = knownUserId(params.userId)
    if (body.role === 'owner' && clock.now() - session.authenticatedAt.getTime() > SIGN_IN_MAX_AGE_MS)
      throw new Problem('recent_sign_in_required', 'Sign in again to hand the company over.')
    const { member } = await db.transaction(async (transaction) => {
      await holdAsOwner(transaction, { vendorId, session })
      return orRefuse(await changePerson(transaction, { vendorId, userId, ...body, by: session.userId }))
    })
    return memberAnswer(member)
  },
})
