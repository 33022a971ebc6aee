import { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { type Actor, recordActivity } from '../accounts/activity.ts'
import {
  COMPANY_ROLES,
  type CompanyRole,
  findMember,
  findOwner,
  type Member,
  type MembershipStatus,
  saveMembership,
  type User,
} from '../accounts/people.ts'
import { route } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { ownerOnly } from './access.ts'
import {
  lockMembersAsOwner,
  memberAnswer,
  PersonAnswer,
  type PersonRefusal,
  parseUserId,
  unwrapOrThrow,
} from './person.ts'

/** Handing a company over cannot be undone, and a stolen session must not be enough for it. */
const SIGN_IN_MAX_AGE_MINUTES = 15

const PersonChange = z
  .strictObject({
    role: z.enum(COMPANY_ROLES, 'must be owner, admin, viewer or member').optional(),
    status: z.enum(['active', 'suspended'], 'must be active or suspended').optional(),
  })
  .refine(({ role, status }) => role !== undefined || status !== undefined, 'must hold role or status')
  .meta({ id: 'PersonChange', minProperties: 1 })

export const changePersonRoute = route({
  method: 'patch',
  path: '/v1/vendor/:vendorId/people/:userId',
  operationId: 'changePerson',
  tag: 'People',
  summary: 'Change the role or status of a person',
  description:
    'Takes effect with the next request. Giving someone the role owner transfers the company to ' +
    'them, and the current owner becomes an admin. ' +
    `That needs a sign-in within the last ${SIGN_IN_MAX_AGE_MINUTES} minutes.`,
  access: ownerOnly,
  body: PersonChange,
  answers: { 200: { description: 'The updated person.', schema: PersonAnswer } },
  problems: ['not_found', 'owner_required', 'recent_sign_in_required'],
  async handle({ vendorId, session, params, body }, { db, clock }: { db: Database; clock: Clock }) {
    const userId = parseUserId(params.userId)
    // A sign-in that is dated later than now was before the clock was set back.
    const age_ms = Math.abs(clock.now() - session.authenticatedAt.getTime())
    if (body.role === 'owner' && age_ms > SIGN_IN_MAX_AGE_MINUTES * 60_000)
      throw new Problem('recent_sign_in_required', 'Sign in again to hand the company over.')
    const { member } = await db.transaction(async (transaction) => {
      await lockMembersAsOwner(transaction, { vendorId, session })
      return unwrapOrThrow(await changePerson(transaction, { vendorId, userId, ...body, by: session.userId }))
    })
    return memberAnswer(member)
  },
})

/**
 * Sets the role and status of a person, and adds the activity entry. A new owner replaces the current one,
 * who becomes an admin. Call it in a transaction that holds lockMembers.
 */
export async function changePerson(
  transaction: Queryable,
  change: {
    vendorId: string
    userId: string
    /** Default: unchanged. */
    role?: CompanyRole | undefined
    status?: MembershipStatus | undefined
    by: Actor
    /** `openid`: the person signed in with the provider, and the provider's claims changed the role. */
    through?: 'openid'
  },
): Promise<{ member: Member; formerOwner: User | undefined } | PersonRefusal> {
  const { vendorId, userId, role, status, by, through } = change
  const member = await findMember(transaction, { vendorId, userId })
  if (!member) return 'no_such_person'
  const before = { role: member.role, status: member.status }
  const after = { role: role ?? member.role, status: status ?? member.status }
  const isActiveOwner = after.role === 'owner' && after.status === 'active'
  if (before.role === 'owner' && !isActiveOwner) return 'owner_required'
  if (after.role === 'owner' && !isActiveOwner) return 'new_owner_suspended'
  if (before.role === after.role && before.status === after.status) return { member, formerOwner: undefined }
  const formerOwner = after.role === 'owner' ? await findOwner(transaction, vendorId) : undefined
  const recordChange = ({ userId, name }: User, values: object) => {
    const detail = { name, ...values, ...(through && { through }) }
    return recordActivity(transaction, { vendorId, by }, 'person.changed', userId, detail)
  }
  if (formerOwner) {
    const admin = { role: 'admin', status: 'active' } as const
    await saveMembership(transaction, { vendorId, userId: formerOwner.userId, ...admin })
    await recordChange(formerOwner, { before: { role: 'owner', status: 'active' }, after: admin })
  }
  await saveMembership(transaction, { vendorId, userId, ...after })
  await recordChange(member, { before, after })
  return { member: { ...member, ...after }, formerOwner }
}
