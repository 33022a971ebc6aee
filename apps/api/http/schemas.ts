import { z } from 'zod'
import type { ClientRecord } from '../clients/records.ts'

/** Schemas shared by several answers. They become named schemas of the OpenAPI document. */

/** In UTC. The document says so once for all. */
export const instant = z.iso.datetime()

export const refusalCause = z.string().meta({ examples: ['wrong_secret'] })

export const vendorId = z.string().meta({ description: 'A company.', examples: ['ven_acme'] })

export const actor = z.object({ userId: z.string().nullable(), name: z.string() }).meta({
  id: 'Actor',
  description: 'Who did it. `userId` is null for an operator of the service, and the service.',
})

/** Returns the person, or the operator when there is no user id. */
export const actorOf = (userId: string | null, name: string | null): z.infer<typeof actor> =>
  userId === null ? { userId: null, name: 'operator' } : { userId, name: name ?? '' }

/** Returns who revoked a client. The service says why. */
export function revokerOf(client: ClientRecord): z.infer<typeof actor> {
  const { revokedBy, revokedByName, revokedBecause } = client
  if (revokedBecause === 'secret_found')
    return { userId: null, name: 'the service, because its secret was found' }
  return actorOf(revokedBy, revokedByName)
}
