import { z } from 'zod'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { cursorTime, nextCursor as nextCursorMember, page, pageParameters } from '../http/page.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { clientAnswers, OAuthClient } from './client.ts'
import { listClients } from './records.ts'

const ClientPage = z
  .object({ clients: z.array(OAuthClient), nextCursor: nextCursorMember })
  .meta({ id: 'OAuthClientPage' })

const position = z.tuple([cursorTime, z.string().regex(CLIENT_ID_PATTERN)])

const ClientQuery = z.strictObject({
  ...pageParameters(position),
  status: z
    .enum(['Active', 'Revoked'], 'must be Active or Revoked')
    .optional()
    .meta({ description: 'Only clients of this status.' }),
  secretFound: z
    .enum(['true'], 'must be true')
    .optional()
    .meta({ description: 'Only clients whose secret was reported.' }),
})

export const listClientsRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/oauth-clients',
  operationId: 'listClients',
  tag: 'Clients',
  summary: 'List the clients of a company, newest first',
  description: 'Includes Active and Revoked clients; filter with `status`.',
  by: canRead,
  query: ClientQuery,
  answers: { 200: { description: 'A page of clients.', schema: ClientPage } },
  async handle(
    { vendorId, query: { limit, cursor, status, secretFound } },
    { db, redis, clock }: { db: Database; redis: Redis; clock: Clock },
  ) {
    const after = cursor && { position: cursor[0], clientId: cursor[1] }
    const records = await listClients(db, {
      vendorId,
      status,
      secretFound: secretFound !== undefined,
      after,
      limit: limit + 1,
    })
    const { rows, nextCursor } = page(records, limit, ({ position, clientId }) => [position, clientId])
    return { clients: await clientAnswers({ db, redis, clock }, vendorId, rows), nextCursor }
  },
})
