import { z } from 'zod'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import { nextCursor, pageParameters } from '../http/page.ts'
import { instant, refusalCause } from '../http/schemas.ts'

export const RefusalQuery = z.strictObject({
  ...pageParameters(z.tuple([z.int().nonnegative(), z.string().max(64)])),
  clientId: z
    .string()
    .regex(CLIENT_ID_PATTERN, 'must be the id of a client')
    .optional()
    .meta({ description: 'Only requests from this client.' }),
})

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
    reason: z.string().meta({ description: 'Why it was refused, in one sentence.' }),
    advice: z.string().meta({ description: 'What to do about it, in one sentence.' }),
  })
  .meta({ id: 'Refusal' })

export const RefusalPage = z.object({ refusals: z.array(Refusal), nextCursor }).meta({ id: 'RefusalPage' })

export const OAuthClientRequests = z
  .object({
    requests: z.array(
      z.object({
        requestId: z.string(),
        at: instant,
        service: z.enum(['auth', 'api']),
        route: z.string(),
        status: z.int(),
        address: z.string().nullable(),
        code: z.string().nullable(),
        cause: refusalCause.nullable(),
        reason: z.string().nullable().meta({
          description: 'Why it was refused. null if it was granted, or more than 24 hours ago.',
        }),
        advice: z.string().nullable(),
      }),
    ),
    skipped: z.int().meta({ description: 'Unreadable entries.' }),
  })
  .meta({ id: 'OAuthClientRequests' })
