import { changePerson } from '#shared/accounts/people-changes.ts'
import { type Route, route } from '../http/route.ts'
import type { PeopleDependencies } from './dependencies.ts'
import { holdAsOwner, knownUserId, memberAnswer, orRefuse } from './person-answer.ts'
import { Person, PersonChange } from './schemas.ts'

export const patchPerson = ({ db, owner: by }: PeopleDependencies): Route =>
  route({
    method: 'patch',
    path: '/v1/vendor/:vendorId/people/:userId',
    operationId: 'changePerson',
    tag: 'People',
    summary: 'Change the role or status of a person',
    description:
      'Owner only. Takes effect with the next request. Giving someone the role owner transfers the company to them, ' +
      'and the current owner becomes an admin.',
    by,
    body: PersonChange,
    answers: { 200: { description: 'The updated person.', schema: Person } },
    problems: ['not_found', 'owner_required'],
    async handle({ vendorId, session, params, body }) {
      const userId = knownUserId(params.userId)
      const { member } = await db.transaction(async (transaction) => {
        await holdAsOwner(transaction, { vendorId, session })
        return orRefuse(await changePerson(transaction, { vendorId, userId, ...body, by: session.userId }))
      })
      return memberAnswer(member)
    },
  })
