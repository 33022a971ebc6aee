import { route } from '../http/route.ts'
import { canView } from '../people/access.ts'
import { Problem } from '../problems/problems.ts'
import { readRefusals } from '../usage/refusals.ts'
import type { UsageStores } from '../usage/windows.ts'
import { Refusal, readFromRedis, refusalAnswers } from './refusal.ts'

/** The X-Request-Id of any answer. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

export const explainRefusalRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/refusals/:requestId',
  operationId: 'explainRefusal',
  tag: 'Clients',
  summary: 'Explain why a request was refused',
  description: "Looks up a refusal by its X-Request-Id, for 24 hours, for the client's company only.",
  access: canView,
  answers: { 200: { description: 'The refusal.', schema: Refusal } },
  problems: ['not_found'],
  async handle({ vendorId, params: { requestId } }, { db, redis, clock }: UsageStores) {
    const requestIds = REQUEST_ID.test(requestId) ? [requestId] : []
    const records = await readFromRedis(() =>
      readRefusals(redis, { vendorId, requestIds, now_ms: clock.now() }),
    )
    const [refusal] = await refusalAnswers(db, vendorId, records)
    if (!refusal) throw new Problem('not_found', 'No refused request with this id is on record.')
    return refusal
  },
})
