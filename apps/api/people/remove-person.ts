import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { type Actor, recordActivity } from '../accounts/activity.ts'
import { isLinked } from '../accounts/openid-identities.ts'
import {
  closeAccount,
  deleteMembership,
  findMember,
  listMemberships,
  lockAccount,
} from '../accounts/people.ts'
import { route } from '../http/route.ts'
import { logSessionEnd } from '../sessions/session-events.ts'
import { deleteSessions } from '../sessions/sessions.ts'
import { forgetSignInAddresses } from '../sessions/sign-in-addresses.ts'
import { ownerOnly } from './access.ts'
import { withdrawInvitation, withdrawInvitationTo } from './invitations.ts'
import { lockMembersAsOwner, type PersonRefusal, parseUserId, unwrapOrThrow } from './person.ts'

export const removePersonRoute = route({
  method: 'delete',
  path: '/v1/vendor/:vendorId/people/:userId',
  operationId: 'removePerson',
  tag: 'People',
  summary: 'Remove a person, or withdraw an invitation',
  description: 'Takes effect with the next request. Clients that the person created keep working.',
  access: ownerOnly,
  answers: { 204: { description: 'The person no longer belongs to the company.' } },
  problems: ['not_found', 'owner_required'],
  async handle({ vendorId, session, params }, { db }: { db: Database }, ctx) {
    const userId = parseUserId(params.userId)
    const author = { vendorId, by: session.userId }
    const sessionIds = await db.transaction(async (transaction) => {
      await lockMembersAsOwner(transaction, { vendorId, session })
      const invitation = await withdrawInvitation(transaction, { vendorId, userId })
      if (!invitation) return unwrapOrThrow(await removePerson(transaction, { ...author, userId }))
      const { name, email, role } = invitation
      await recordActivity(transaction, author, 'invitation.withdrawn', userId, { name, email, role })
      return []
    })
    for (const sessionId of sessionIds)
      logSessionEnd(ctx.state.log, { userId, sessionId, why: 'person_removed', from: ctx })
    return undefined
  },
})

/**
 * Removes a person from a company, with the activity entry. With the last company, the account ends. Call it
 * in a transaction that holds lockMembers. Returns the ids of the sessions that ended.
 */
async function removePerson(
  transaction: Queryable,
  { vendorId, userId, by }: { vendorId: string; userId: string; by: Actor },
): Promise<string[] | PersonRefusal> {
  const member = await findMember(transaction, { vendorId, userId })
  if (!member) return 'no_such_person'
  if (member.role === 'owner') return 'owner_required'
  await deleteMembership(transaction, { vendorId, userId })
  const sessionIds = await endAccountWithoutCompany(transaction, userId)
  const { name, email, role } = member
  // With an unused invitation link, the person could join again.
  await withdrawInvitationTo(transaction, { vendorId, email })
  await recordActivity(transaction, { vendorId, by }, 'person.removed', userId, { name, email, role })
  return sessionIds
}

/**
 * Ends an account that belongs to no company any more: its sessions and its password end, and its address is
 * free. An account that is linked to an OpenID provider only loses its sessions: the provider proves whose it
 * is, and the link keeps a removed person from joining again uninvited. Call it in a transaction. Returns the
 * ids of the ended sessions.
 */
export async function endAccountWithoutCompany(transaction: Queryable, userId: string): Promise<string[]> {
  // Joining another company with this account takes this lock too: either it is seen here, or it is refused.
  await lockAccount(transaction, userId)
  if ((await listMemberships(transaction, userId)).length > 0) return []
  const sessionIds = await deleteSessions(transaction, userId)
  if (await isLinked(transaction, userId)) return sessionIds
  await closeAccount(transaction, userId)
  await forgetSignInAddresses(transaction, userId)
  return sessionIds
}
