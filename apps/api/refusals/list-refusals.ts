import { z } from 'zod'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { findClient } from '../clients/records.ts'
import { nextCursor, page, pageParameters } from '../http/page.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { Problem } from '../problems/problems.ts'
import { listPositions, readRefusals } from '../usage/refusals.ts'
import { fromRedis, Refusal, refusalAnswers } from './refusal.ts'

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
  description: 'Covers the last 24 hours, up to 200 per client.',
  by: canRead,
  query: RefusalQuery,
  answers: { 200: { description: 'A page of refusals.', schema: RefusalPage } },
  problems: ['not_found'],
  async handle(
    { vendorId, query: { limit, cursor, clientId } },
    { db, redis, clock }: { db: Database; redis: Redis; clock: Clock },
  ) {
    const now_ms = clock.now()
    if (clientId !== undefined && !(await findClient(db, { vendorId, clientId }))) {
      throw new Problem('not_found', 'The company has no such client.')
    }
    const found = await fromRedis(async () => {
      const some = { of: clientId ?? vendorId, after: cursor, limit: limit + 1, now_ms }
      const positions = await listPositions(redis, some)
      const { rows, nextCursor } = page(positions, limit, (position) => position)
      const requestIds = rows.map(([, requestId]) => requestId)
      return { refusals: await readRefusals(redis, { vendorId, requestIds, now_ms }), nextCursor }
    })
    return { ...found, refusals: await refusalAnswers(db, vendorId, found.refusals) }
  },
})
