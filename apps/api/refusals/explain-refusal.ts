import { route } from '../http/route.ts'
import { canView } from '../people/access.ts'
import { Problem } from '../problems/problems.ts'
import { readRefusals } from '../usage/refusals.ts'
import { findLoggedRequest, type LoggedRequest } from '../usage/request-log.ts'
import type { UsageStores } from '../usage/windows.ts'
import { ExplainedRequest, readFromRedis, refusalAnswers } from './refusal.ts'

/** The X-Request-Id of any answer. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

export const explainRefusalRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/refusals/:requestId',
  operationId: 'explainRefusal',
  tag: 'Clients',
  summary: 'Explain why a request was refused',
  description:
    "Looks up a request by its X-Request-Id, for the client's company only. A refused one is explained for 24 hours. " +
    'A granted one is found while it is among the last 200 of its client.',
  access: canView,
  answers: { 200: { description: 'The request.', schema: ExplainedRequest } },
  problems: ['not_found'],
  async handle({ vendorId, params: { requestId } }, { db, redis, clock }: UsageStores) {
    const requestIds = REQUEST_ID.test(requestId) ? [requestId] : []
    const findRefusal = async () => {
      const range = { vendorId, requestIds, now_ms: clock.now() }
      const records = await readFromRedis(() => readRefusals(redis, range))
      return (await refusalAnswers(db, vendorId, records))[0]
    }
    const refusal = await findRefusal()
    if (refusal) return refusal
    const [id] = requestIds
    const request = id && (await readFromRedis(() => findLoggedRequest(redis, { vendorId, requestId: id })))
    if (!request) throw new Problem('not_found', 'No request with this id is on record.')
    // A refused one may have been recorded since, before it was logged.
    const recorded = request.code === null ? undefined : await findRefusal()
    return recorded ?? unexplained(request)
  },
})

const unexplained = ({ at_ms, refusal: _, ...request }: LoggedRequest & { clientId: string }) => ({
  ...request,
  at: new Date(at_ms).toISOString(),
  ...{ cause: null, reason: null, advice: null },
})
