import type { z } from 'zod'
import type { Database } from '#shared/stores/postgres.ts'
import { actorOf } from '../http/schemas.ts'
import { findDestination } from './destinations.ts'
import type { Callback } from './schemas.ts'

/** The callback of a company as it is shown. */
export async function callbackAnswer(db: Database, vendorId: string): Promise<z.infer<typeof Callback>> {
  const saved = await findDestination(db, vendorId)
  return {
    vendorId,
    callbackUrl: saved?.callbackUrl ?? null,
    verified: saved?.verified ?? false,
    updatedAt: saved?.updatedAt.toISOString() ?? null,
    updatedBy: saved ? actorOf(saved.updatedBy, saved.updatedByName) : null,
  }
}
