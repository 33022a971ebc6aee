import { z } from 'zod'
import type { Queryable } from '#shared/stores/postgres.ts'
import { findClients } from '../clients/records.ts'
import { instant } from '../http/instant.ts'
import { unavailable } from '../problems/problems.ts'
import { refusalCause } from '../usage/failing.ts'
import type { RefusalRecord } from '../usage/refusals.ts'
import { explainRefusal } from './reasons.ts'

export const Refusal = z
  .object({
    requestId: z.string(),
    at: instant,
    clientId: z.string(),
    route: z.string().meta({ examples: ['GET /v1/analytics/{vendorId}/daily'] }),
    status: z.int(),
    address: z.string().nullable(),
    cause: refusalCause,
    code: z.string().meta({ description: 'The error code in the response.' }),
    reason: z.string().meta({ description: 'Why it was refused.' }),
    advice: z.string().meta({ description: 'What to do about it.' }),
  })
  .meta({ id: 'Refusal' })

/** A request that was refused, or else granted: then nothing has to be explained. */
export const ExplainedRequest = z
  .object({
    ...Refusal.shape,
    cause: refusalCause.nullable(),
    code: z.string().nullable(),
    reason: z.string().nullable().meta({
      description:
        'Why it was refused. null if it was granted, failed with a 5xx status, or if that is no longer known.',
    }),
    advice: z.string().nullable(),
  })
  .meta({ id: 'ExplainedRequest' })

/** @throws Problem unavailable if Redis does not answer. */
export function readFromRedis<T>(read: () => Promise<T>): Promise<T> {
  return read().catch((error: unknown) => {
    throw unavailable('We cannot read the record of refused requests right now.', error)
  })
}

/** Returns refused requests of a company as the API answers them, explained. */
export async function refusalAnswers(
  db: Queryable,
  vendorId: string,
  refusals: readonly RefusalRecord[],
): Promise<z.infer<typeof Refusal>[]> {
  const clientIds = [...new Set(refusals.map(({ clientId }) => clientId))]
  const records = await findClients(db, { vendorId, clientIds })
  const clients = new Map(records.map((record) => [record.clientId, record]))
  return refusals.map((refusal) => {
    const { requestId, at_ms, clientId, route, status, code, address = null, reason: cause } = refusal
    const at = new Date(at_ms).toISOString()
    const explanation = explainRefusal(refusal, clients.get(clientId))
    return { requestId, at, clientId, route, status, address, cause, code, ...explanation }
  })
}
