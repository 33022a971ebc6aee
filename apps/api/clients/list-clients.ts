import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { page } from '../http/page.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { clientAnswers } from './client-answer.ts'
import { listClients } from './records.ts'
import { ClientPage, ClientQuery } from './schemas.ts'

export const getClients = route({
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
