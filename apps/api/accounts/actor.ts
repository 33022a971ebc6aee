import { z } from 'zod'

/* Schemas of several answers: a company's id, and who did something. */

export const vendorId = z.string().meta({ description: 'A company.', examples: ['ven_acme'] })

export const actor = z.object({ userId: z.string().nullable(), name: z.string() }).meta({
  id: 'Actor',
  description: 'Who did it. Without a `userId`, `name` is `operator` or begins with `service`.',
})

/** Returns the person, or the operator when there is no user id. */
export const actorAnswer = (userId: string | null, name: string | null): z.infer<typeof actor> =>
  userId === null ? { userId: null, name: 'operator' } : { userId, name: name ?? '' }
