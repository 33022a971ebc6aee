import { z } from 'zod'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import { requireClient } from '../clients/client.ts'
import { nextCursor, page, pageParameters } from '../http/page.ts'
import { route } from '../http/route.ts'
import { canView } from '../people/access.ts'
import { listRefusalPositions, readRefusals } from '../usage/refusals.ts'
import type { UsageStores } from '../usage/windows.ts'
import { Refusal, readFromRedis, refusalAnswers } from './refusal.ts'

const RefusalQuery = z.strictObject({
  ...pageParameters(z.tuple([z.int().nonnegative(), z.string().max(64)])),
  clientId: z
    .string()
    .regex(CLIENT_ID_PATTERN, 'must be the id of a client')
    .optional()
    .meta({ description: 'Only requests from this client.' }),
})

const RefusalPage = z.object({ refusals: z.array(Refusal), nextCursor }).meta({ id: 'RefusalPage' })

export const listRefusalsRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/refusals',
  operationId: 'listRefusals',
  tag: 'Clients',
  summary: "List a company's refused client requests, newest first",
  description: 'Covers the last 24 hours, up to 250 per client and 2,000 per company.',
  access: canView,
  query: RefusalQuery,
  answers: { 200: { description: 'A page of refusals.', schema: RefusalPage } },
  problems: ['not_found'],
  async handle({ vendorId, query: { limit, cursor, clientId } }, { db, redis, clock }: UsageStores) {
    const now_ms = clock.now()
    if (clientId !== undefined) await requireClient(db, vendorId, clientId)
    const { refusals, nextCursor } = await readFromRedis(async () => {
      const range = { vendorId, clientId, after: cursor, limit: limit + 1, now_ms }
      const positions = await listRefusalPositions(redis, range)
      const { rows, nextCursor } = page(positions, limit, (position) => position)
      const requestIds = rows.map(([, requestId]) => requestId)
      return { refusals: await readRefusals(redis, { vendorId, requestIds, now_ms }), nextCursor }
    })
    return { refusals: await refusalAnswers(db, vendorId, refusals), nextCursor }
  },
})
