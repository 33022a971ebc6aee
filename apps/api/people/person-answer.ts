import type { z } from 'zod'
import { USER_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { findOwner, lockMembers, type Member } from '../accounts/people.ts'
import { Problem } from '../problems/problems.ts'
import type { Manager } from './access.ts'
import type { PeopleRefusal } from './changes.ts'
import type { Invitation } from './invitations.ts'
import type { Person } from './schemas.ts'

export const memberAnswer = ({ userId, name, email, role, status }: Member): z.infer<typeof Person> => ({
  userId,
  name,
  email,
  role,
  status,
  expiresAt: null,
})

export const invitationAnswer = ({
  userId,
  name,
  email,
  role,
  expiresAt,
}: Omit<Invitation, 'vendorId'>): z.infer<typeof Person> => ({
  userId,
  name,
  email,
  role,
  status: 'invited',
  expiresAt: expiresAt.toISOString(),
})

const noSuchPerson = (): Problem => new Problem('not_found', 'The company has no such person.')

/** @throws Problem not_found if it cannot be a user id. */
export function knownUserId(userId: string): string {
  if (!USER_ID_PATTERN.test(userId)) throw noSuchPerson()
  return userId
}

const REFUSALS = {
  no_such_person: noSuchPerson,
  owner_required: () =>
    new Problem('owner_required', 'A company always has exactly one active owner. Transfer ownership first.'),
}

/** @throws Problem if the outcome is a refusal. */
export function orRefuse<T extends object>(outcome: T | PeopleRefusal): T {
  if (typeof outcome === 'string') throw REFUSALS[outcome]()
  return outcome
}

/**
 * Locks the company's people against other changes until the transaction ends.
 * @throws Problem forbidden if ownership has just been transferred.
 */
export async function holdAsOwner(transaction: Queryable, { vendorId, session }: Manager): Promise<void> {
  await lockMembers(transaction, vendorId)
  const owner = await findOwner(transaction, vendorId)
  if (owner?.userId !== session.userId) {
    throw new Problem('forbidden', 'Only the owner of this company may do this.')
  }
}
