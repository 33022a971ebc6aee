import type { z } from 'zod'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { findClient, findClients } from '../clients/records.ts'
import { page } from '../http/page.ts'
import { route } from '../http/route.ts'
import { canRead } from '../people/access.ts'
import { Problem, unavailable } from '../problems/problems.ts'
import type { RefusalRecord } from '../usage/refusals.ts'
import { listPositions, readRefusals } from '../usage/refusals.ts'
import { explain } from './reasons.ts'
import { Refusal, RefusalPage, RefusalQuery } from './schemas.ts'

/** The X-Request-Id of any answer. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

export const getRefusals = route({
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
    return { ...found, refusals: await explained(db, vendorId, found.refusals) }
  },
})

export const getRefusal = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/refusals/:requestId',
  operationId: 'explainRefusal',
  tag: 'Clients',
  summary: 'Explain why a request was refused',
  description: "Looks up a refusal by its X-Request-Id, for 24 hours, for the client's company only.",
  by: canRead,
  answers: { 200: { description: 'The refusal.', schema: Refusal } },
  problems: ['not_found'],
  async handle(
    { vendorId, params: { requestId } },
    { db, redis, clock }: { db: Database; redis: Redis; clock: Clock },
  ) {
    const requestIds = REQUEST_ID.test(requestId) ? [requestId] : []
    const found = await fromRedis(() => readRefusals(redis, { vendorId, requestIds, now_ms: clock.now() }))
    const [refusal] = await explained(db, vendorId, found)
    if (!refusal) throw new Problem('not_found', 'No refused request with this id is on record.')
    return refusal
  },
})

function fromRedis<T>(read: () => Promise<T>): Promise<T> {
  return read().catch((error: unknown) => {
    throw unavailable('We cannot read the record of refused requests right now.', error)
  })
}

async function explained(
  db: Database,
  vendorId: string,
  found: readonly RefusalRecord[],
): Promise<z.infer<typeof Refusal>[]> {
  const clientIds = [...new Set(found.map(({ clientId }) => clientId))]
  const records = await findClients(db, { vendorId, clientIds })
  const clients = new Map(records.map((record) => [record.clientId, record]))
  return found.map((one) => {
    const { requestId, at_ms, clientId, route, status, code, address = null, reason: cause } = one
    const at = new Date(at_ms).toISOString()
    const explanation = explain(one, clients.get(clientId))
    return { requestId, at, clientId, route, status, address, cause, code, ...explanation }
  })
}
