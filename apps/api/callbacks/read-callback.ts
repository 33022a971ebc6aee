import { z } from 'zod'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { actor, actorAnswer, vendorId } from '../accounts/actor.ts'
import { instant } from '../http/instant.ts'
import { route } from '../http/route.ts'
import { canView } from '../people/access.ts'
import { findDestination } from './destinations.ts'

export const Callback = z
  .object({
    vendorId,
    callbackUrl: z
      .string()
      .nullable()
      .meta({ description: 'The normalised URL; null if none was ever saved.' }),
    verified: z
      .boolean()
      .meta({ description: 'True if DNS answered when the URL was saved, with public addresses only.' }),
    updatedAt: instant.nullable(),
    updatedBy: actor.nullable(),
  })
  .meta({ id: 'Callback' })

export const readCallbackRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/callback-url',
  operationId: 'readCallback',
  tag: 'Callback',
  summary: 'Get the callback of a company',
  description: 'Returns the saved callback URL. `callbackUrl` is null if none was ever saved.',
  access: canView,
  answers: { 200: { description: 'The saved callback.', schema: Callback } },
  handle: ({ vendorId }, { db }: { db: Database }) => callbackAnswer(db, vendorId),
})

/** Returns a company's callback as the API answers it, with nulls if none was ever saved. */
export async function callbackAnswer(db: Queryable, vendorId: string): Promise<z.infer<typeof Callback>> {
  const destination = await findDestination(db, vendorId)
  return {
    vendorId,
    callbackUrl: destination?.callbackUrl ?? null,
    verified: destination?.verified ?? false,
    updatedAt: destination?.updatedAt.toISOString() ?? null,
    updatedBy: destination ? actorAnswer(destination.updatedBy, destination.updatedByName) : null,
  }
}
