import { z } from 'zod'
import { USER_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { COMPANY_ROLES, findOwner, lockMembers, type Member } from '../accounts/people.ts'
import { instant } from '../http/instant.ts'
import type { MailProgress } from '../mail/outbox.ts'
import { Problem } from '../problems/problems.ts'
import type { CompanyCaller } from './access.ts'
import type { Invitation } from './invitations.ts'

/** Published as `Person`: a member of a company, or someone invited. */
export const PersonAnswer = z
  .object({
    userId: z.string(),
    name: z.string(),
    email: z.string(),
    role: z.enum(COMPANY_ROLES),
    status: z.enum(['active', 'suspended', 'invited']),
    expiresAt: instant
      .nullable()
      .meta({ description: 'When the invitation expires; null if this is not an invitation.' }),
    mail: z
      .enum(['waiting', 'sent', 'failed'])
      .nullable()
      .meta({
        description:
          'Whether the invitation was mailed; null if that was not tried. `sent`: a mail server has accepted it, ' +
          'which does not say that it arrived.',
      }),
    mailedAt: instant.nullable().meta({ description: 'When a mail server accepted the invitation.' }),
  })
  .meta({ id: 'Person' })
export type PersonAnswer = z.infer<typeof PersonAnswer>

export function memberAnswer({ userId, name, email, role, status }: Member): PersonAnswer {
  return { userId, name, email, role, status, expiresAt: null, mail: null, mailedAt: null }
}

export const invitationAnswer = (
  { userId, name, email, role, expiresAt }: Omit<Invitation, 'vendorId'>,
  mail: MailProgress | undefined,
): PersonAnswer => ({
  userId,
  name,
  email,
  role,
  status: 'invited',
  expiresAt: expiresAt.toISOString(),
  mail: mail?.progress ?? null,
  mailedAt: mail?.sentAt?.toISOString() ?? null,
})

const noSuchPerson = (): Problem => new Problem('not_found', 'The company has no such person.')

/** @throws Problem not_found if it cannot be a user id. */
export function parseUserId(text: string): string {
  if (!USER_ID_PATTERN.test(text)) throw noSuchPerson()
  return text
}

/** `owner_required`, `new_owner_suspended`: the company would be left without an active owner. */
export type PersonRefusal = 'no_such_person' | 'owner_required' | 'new_owner_suspended'

const REFUSALS = {
  no_such_person: noSuchPerson,
  owner_required: () =>
    new Problem('owner_required', 'A company always has exactly one active owner. Transfer ownership first.'),
  new_owner_suspended: () => new Problem('owner_required', 'Only an active person can become the owner.'),
}

/** @throws Problem if the outcome is a refusal. */
export function unwrapOrThrow<T extends object>(outcome: T | PersonRefusal): T {
  if (typeof outcome === 'string') throw REFUSALS[outcome]()
  return outcome
}

/**
 * Keeps others from changing the company's people until the transaction ends.
 * @throws Problem forbidden if the caller has just handed the company over.
 */
export async function lockMembersAsOwner(
  transaction: Queryable,
  { vendorId, session }: CompanyCaller,
): Promise<void> {
  await lockMembers(transaction, vendorId)
  const owner = await findOwner(transaction, vendorId)
  if (owner?.userId !== session.userId) {
    throw new Problem('forbidden', 'Only the owner of this company may do this.')
  }
}
