import { hashSecret } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { record } from '../accounts/activity.ts'
import { newInvitationToken, newUserId } from '../accounts/new-ids.ts'
import { listMembers, normalizedEmail, PEOPLE_MAX } from '../accounts/people.ts'
import { route } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { ownerOnly } from './access.ts'
import { INVITATION_LIFETIME_MS, listInvitations, replaceInvitation } from './invitations.ts'
import { holdAsOwner, invitationAnswer } from './person-answer.ts'
import { InvitedPerson, PersonInput } from './schemas.ts'

export const invitePersonRoute = route({
  method: 'post',
  path: '/v1/vendor/:vendorId/people',
  operationId: 'invitePerson',
  tag: 'People',
  summary: 'Invite a person',
  description:
    'Owner only. The response contains a link that works once, within 72 hours. No email is sent. ' +
    'Inviting the same address again replaces the link.',
  by: ownerOnly,
  body: PersonInput,
  answers: { 201: { description: 'The invitation with its link.', schema: InvitedPerson } },
  problems: ['already_member', 'people_limit_reached'],
  async handle(
    { vendorId, session, body: { name, email: typed, role } },
    {
      db,
      clock,
      baseUrl,
      builtInAccounts,
    }: { db: Database; clock: Clock; baseUrl: string; builtInAccounts: boolean },
  ) {
    if (!builtInAccounts)
      throw new Problem('forbidden', 'People join by signing in with the OpenID provider, not by invitation.')
    const token = newInvitationToken()
    const now = new Date(clock.now())
    const expiresAt = new Date(now.getTime() + INVITATION_LIFETIME_MS)
    const invitation = {
      vendorId,
      userId: newUserId(),
      email: normalizedEmail(typed),
      name,
      role,
      expiresAt,
    }
    const { userId, email } = invitation
    await db.transaction(async (transaction) => {
      await holdAsOwner(transaction, { vendorId, session })
      const members = await listMembers(transaction, vendorId)
      if (members.some((one) => one.email === email)) {
        throw new Problem('already_member', 'This person already belongs to the company.')
      }
      const others = (await listInvitations(transaction, { vendorId, now })).filter(
        (one) => one.email !== email,
      )
      if (members.length + others.length >= PEOPLE_MAX) {
        throw new Problem(
          'people_limit_reached',
          `A company can have at most ${PEOPLE_MAX} people and invitations.`,
        )
      }
      const made = { tokenHash: hashSecret(token), invitedBy: session.userId, createdAt: now }
      await replaceInvitation(transaction, { ...invitation, ...made })
      const author = { vendorId, by: session.userId }
      await record(transaction, author, 'person.invited', userId, { name, email, role })
    })
    // A fragment is never sent to a server, so no log contains it.
    return { ...invitationAnswer(invitation), invitationUrl: `${baseUrl}/invitation#${token}` }
  },
})
