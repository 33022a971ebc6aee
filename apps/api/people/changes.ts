import type { Queryable } from '#shared/stores/postgres.ts'
import { type Actor, record } from '../accounts/activity.ts'
import {
  deleteMembership,
  endAccountWithoutCompany,
  findMember,
  findOwner,
  type Member,
  type MembershipStatus,
  type Role,
  saveMembership,
  type User,
} from '../accounts/people.ts'
import { withdrawInvitationTo } from './invitations.ts'

/** `owner_required`: the company would be left without an active owner. */
export type PeopleRefusal = 'no_such_person' | 'owner_required'

export interface PersonChange {
  vendorId: string
  userId: string
  /** Default: unchanged. */
  role?: Role | undefined
  status?: MembershipStatus | undefined
  by: Actor
  /** `openid`: a sign-in with the provider of the person, by what the provider says. */
  through?: 'openid'
}

/**
 * Sets the role and status of a person, and adds the activity entry. A new owner replaces the current one, who
 * becomes an admin. Call it in a transaction that holds lockMembers.
 */
export async function changePerson(
  transaction: Queryable,
  { vendorId, userId, role, status, by, through }: PersonChange,
): Promise<{ member: Member; formerOwner: User | undefined } | PeopleRefusal> {
  const member = await findMember(transaction, { vendorId, userId })
  if (!member) return 'no_such_person'
  const before = { role: member.role, status: member.status }
  const after = { role: role ?? member.role, status: status ?? member.status }
  const staysOwner = after.role === 'owner' && after.status === 'active'
  if ((before.role === 'owner' || after.role === 'owner') && !staysOwner) return 'owner_required'
  if (before.role === after.role && before.status === after.status) return { member, formerOwner: undefined }
  const formerOwner = after.role === 'owner' ? await findOwner(transaction, vendorId) : undefined
  const recordChange = ({ userId, name }: User, change: object) => {
    const detail = { name, ...change, ...(through && { through }) }
    return record(transaction, { vendorId, by }, 'person.changed', userId, detail)
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

/** Adds a user to a company, with the activity entry. Call it in a transaction that holds lockMembers. */
export async function addPerson(
  transaction: Queryable,
  { vendorId, user, role, by }: { vendorId: string; user: User; role: Role; by: Actor },
): Promise<void> {
  const { userId, name, email } = user
  await saveMembership(transaction, { vendorId, userId, role, status: 'active' })
  await record(transaction, { vendorId, by }, 'person.added', userId, { name, email, role })
}

/**
 * Removes a person from a company, with the activity entry; with the last company, the account ends. Call it in a
 * transaction that holds lockMembers. Returns the ids of the sessions that ended.
 */
export async function removePerson(
  transaction: Queryable,
  { vendorId, userId, by }: { vendorId: string; userId: string; by: Actor },
): Promise<string[] | PeopleRefusal> {
  const member = await findMember(transaction, { vendorId, userId })
  if (!member) return 'no_such_person'
  if (member.role === 'owner') return 'owner_required'
  await deleteMembership(transaction, { vendorId, userId })
  const ended = await endAccountWithoutCompany(transaction, userId)
  const { name, email, role } = member
  // A link that is still out would bring the person back.
  await withdrawInvitationTo(transaction, { vendorId, email })
  await record(transaction, { vendorId, by }, 'person.removed', userId, { name, email, role })
  return ended
}
