import { z } from 'zod'
import { emailAddress, personName } from '../accounts/names.ts'
import { instant } from '../http/instant.ts'
import { nextCursor, pageParameters } from '../http/page.ts'

const role = z.enum(['owner', 'admin', 'member'])

export const Person = z
  .object({
    userId: z.string(),
    name: z.string(),
    email: z.string(),
    role,
    status: z.enum(['active', 'suspended', 'invited']),
    expiresAt: instant
      .nullable()
      .meta({ description: 'When the invitation expires; null if this is not an invitation.' }),
  })
  .meta({ id: 'Person' })

export const PersonPage = z.object({ people: z.array(Person), nextCursor }).meta({ id: 'PersonPage' })

export const PeopleQuery = z.strictObject(
  pageParameters(z.tuple([z.int().min(0).max(3), z.string().max(200), z.string().max(64)])),
)

export const PersonInput = z
  .strictObject({
    name: personName,
    email: emailAddress,
    role: z.enum(['admin', 'member'], 'must be admin or member'),
  })
  .meta({ id: 'PersonInput' })

export const InvitedPerson = z
  .object({
    ...Person.shape,
    invitationUrl: z.string().meta({
      description:
        'Give it only to the invited person: anyone with the link can accept it, once, within 72 hours. Returned only in this response.',
    }),
  })
  .meta({ id: 'InvitedPerson' })

export const PersonChange = z
  .strictObject({
    role: z.enum(['owner', 'admin', 'member'], 'must be owner, admin or member').optional(),
    status: z.enum(['active', 'suspended'], 'must be active or suspended').optional(),
  })
  .refine(({ role, status }) => role !== undefined || status !== undefined, 'must hold role or status')
  .meta({ id: 'PersonChange', minProperties: 1 })
