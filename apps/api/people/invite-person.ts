import { z } from 'zod'
import { hashSecret } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { type Actor, recordActivity } from '../accounts/activity.ts'
import { emailAddress, personName } from '../accounts/names.ts'
import { newInvitationToken, newUserId } from '../accounts/new-ids.ts'
import {
  ASSIGNABLE_ROLES,
  type CompanyRole,
  listMembers,
  normalizedEmail,
  PEOPLE_MAX,
  saveMembership,
  type User,
} from '../accounts/people.ts'
import { invalidMember } from '../http/input.ts'
import { route } from '../http/route.ts'
import type { FindAddressee } from '../mail/addressee.ts'
import { addMail } from '../mail/outbox.ts'
import { Problem } from '../problems/problems.ts'
import { ownerOnly } from './access.ts'
import {
  addInvitationLink,
  INVITATION_LIFETIME_HOURS,
  INVITATION_LIFETIME_MS,
  type Invitation,
  listInvitations,
  replaceInvitation,
} from './invitations.ts'
import { invitationAnswer, lockMembersAsOwner, PersonAnswer } from './person.ts'

const PersonInput = z
  .strictObject({
    name: personName,
    email: emailAddress,
    role: z.enum(ASSIGNABLE_ROLES, 'must be admin, viewer or member'),
    deliver: z
      .enum(['mail', 'link'], 'must be mail or link')
      .optional()
      .meta({
        description:
          '`mail`: the link is emailed to the person. `link`: it is returned. Default: `mail` where ' +
          '`GET /v1/sign-in` says that there is mail.',
      }),
  })
  .meta({ id: 'PersonInput' })

const InvitedPerson = z
  .object({
    ...PersonAnswer.shape,
    invitationUrl: z
      .string()
      .nullable()
      .meta({
        description:
          'null if it is emailed. Give it only to the invited person: anyone with the link can accept it, once, ' +
          `within ${INVITATION_LIFETIME_HOURS} hours. ` +
          'Returned only in this response.',
      }),
  })
  .meta({ id: 'InvitedPerson' })

interface InviteNeeds {
  db: Database
  clock: Clock
  /** The workspace's URL. */
  baseUrl: string
  builtInAccounts: boolean
  mailIsOn: boolean
  invitationMailsPerCompany: RateLimit
}

export const invitePersonRoute = route({
  method: 'post',
  path: '/v1/vendor/:vendorId/people',
  operationId: 'invitePerson',
  tag: 'People',
  summary: 'Invite a person',
  description:
    'Emails a link to the person, or returns it where nothing is emailed or `deliver` says so. It works ' +
    `once, within ${INVITATION_LIFETIME_HOURS} hours of being emailed or returned. ` +
    'Inviting the same address again ends the links of before.',
  access: ownerOnly,
  body: PersonInput,
  answers: {
    201: { description: 'The invitation, with its link unless that is emailed.', schema: InvitedPerson },
  },
  problems: ['already_member', 'people_limit_reached', 'rate_limited'],
  async handle(
    { vendorId, session, body: { name, email, role, deliver } },
    { db, clock, baseUrl, builtInAccounts, mailIsOn, invitationMailsPerCompany }: InviteNeeds,
  ) {
    if (!builtInAccounts)
      throw new Problem('forbidden', 'People join by signing in with the OpenID provider, not by invitation.')
    if (deliver === 'mail' && !mailIsOn)
      throw invalidMember('/deliver', 'must be link, because nothing is emailed here')
    const isMailed = mailIsOn && deliver !== 'link'
    if (isMailed) await countInvitationMail(invitationMailsPerCompany, vendorId)
    const token = newInvitationToken()
    const createdAt = new Date(clock.now())
    const invitation = {
      vendorId,
      userId: newUserId(),
      email: normalizedEmail(email),
      name,
      role,
      expiresAt: new Date(createdAt.getTime() + INVITATION_LIFETIME_MS),
      invitedBy: session.userId,
      createdAt,
    }
    await db.transaction(async (transaction) => {
      await lockMembersAsOwner(transaction, { vendorId, session })
      await invitePerson(transaction, invitation)
      const { userId } = invitation
      const link = { userId, tokenHash: hashSecret(token), isMailed, now: createdAt }
      if (isMailed)
        await addMail(transaction, 'invitation', { topic: vendorId, userId, vendorId, detail: {} })
      else await addInvitationLink(transaction, link)
    })
    return isMailed
      ? { ...invitationAnswer(invitation, { progress: 'waiting', sentAt: null }), invitationUrl: null }
      : { ...invitationAnswer(invitation, undefined), invitationUrl: linkTo(baseUrl, token) }
  },
})

/** Else an owner could have strangers mailed without end. @throws Problem rate_limited */
async function countInvitationMail(limit: RateLimit, vendorId: string): Promise<void> {
  const rate = await limit.consume(vendorId)
  if (rate.allowed) return
  const detail = 'This company has had too many invitations emailed. Copy a link instead, or wait.'
  throw new Problem('rate_limited', detail, { headers: rateLimitHeaders(rate) })
}

// A fragment is never sent to a server, so no log contains it.
const linkTo = (baseUrl: string, token: string): string => `${baseUrl}/invitation#${token}`

/** Returns who gets the mail of an invitation. Each mail has a link of its own. */
export const createInvitee =
  ({
    clock,
    baseUrl,
    builtInAccounts,
  }: Pick<InviteNeeds, 'clock' | 'baseUrl' | 'builtInAccounts'>): FindAddressee =>
  async (db, { userId }) => {
    if (!builtInAccounts || userId === null) return undefined
    const token = newInvitationToken()
    const link = { userId, tokenHash: hashSecret(token), isMailed: true, now: new Date(clock.now()) }
    const invitation = await db.transaction((transaction) => addInvitationLink(transaction, link))
    if (!invitation) return undefined
    const { vendorId, companyName: name, timezone, role, email, invitedBy, expiresAt } = invitation
    const company = { vendorId, name, timezone, role }
    return { email, company, invitedBy, link: { url: linkTo(baseUrl, token), expiresAt } }
  }

/** Adds the invitation, with the activity entry. @throws Problem already_member or people_limit_reached */
async function invitePerson(
  transaction: Queryable,
  invitation: Invitation & { invitedBy: string; createdAt: Date },
): Promise<void> {
  const { vendorId, userId, email, name, role, invitedBy, createdAt: now } = invitation
  const members = await listMembers(transaction, vendorId)
  if (members.some((member) => member.email === email))
    throw new Problem('already_member', 'This person already belongs to the company.')
  const invitations = await listInvitations(transaction, { vendorId, now })
  // The new invitation replaces an earlier one to this address.
  const others = invitations.filter((other) => other.email !== email)
  if (members.length + others.length >= PEOPLE_MAX)
    throw new Problem(
      'people_limit_reached',
      `A company can have at most ${PEOPLE_MAX} people and invitations.`,
    )
  await replaceInvitation(transaction, invitation)
  await recordActivity(transaction, { vendorId, by: invitedBy }, 'person.invited', userId, {
    name,
    email,
    role,
  })
}

/** Adds a user, with the activity entry. Call it in a transaction that holds lockMembers. */
export async function addPerson(
  transaction: Queryable,
  { vendorId, user, role, by }: { vendorId: string; user: User; role: CompanyRole; by: Actor },
): Promise<void> {
  const { userId, name, email } = user
  await saveMembership(transaction, { vendorId, userId, role, status: 'active' })
  await recordActivity(transaction, { vendorId, by }, 'person.added', userId, { name, email, role })
}
