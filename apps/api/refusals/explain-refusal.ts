import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { route } from '../http/route.ts'
import { canView } from '../people/access.ts'
import { Problem } from '../problems/problems.ts'
import { readRefusals } from '../usage/refusals.ts'
import { findLoggedRequest, type LoggedRequest } from '../usage/request-log.ts'
import type { UsageStores } from '../usage/windows.ts'
import { ExplainedRequest, readFromRedis, refusalAnswers } from './refusal.ts'

/** A search of a company's logs of requests costs Redis as much as about this many other requests. */
const SEARCH_WEIGHT = 25

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
  async handle({ vendorId, session, params: { requestId } }, needs: ExplanationNeeds, ctx) {
    const { db, redis, clock } = needs
    const requestIds = REQUEST_ID.test(requestId) ? [requestId] : []
    const findRefusal = async () => {
      const range = { vendorId, requestIds, now_ms: clock.now() }
      const records = await readFromRedis(() => readRefusals(redis, range))
      return (await refusalAnswers(db, vendorId, records))[0]
    }
    const refusal = await findRefusal()
    if (refusal) return refusal
    const [id] = requestIds
    const rate = await needs.requestsPerSession.consume(session.sessionId, SEARCH_WEIGHT)
    ctx.set(rateLimitHeaders(rate))
    if (!rate.allowed) throw new Problem('rate_limited', 'Too many requests in this session.')
    const request = id && (await readFromRedis(() => findLoggedRequest(redis, { vendorId, requestId: id })))
    if (!request) throw new Problem('not_found', 'No request with this id is on record.')
    // A refused one may have been recorded since, before it was logged.
    const recorded = request.code === null ? undefined : await findRefusal()
    return recorded ?? unexplained(request)
  },
})

interface ExplanationNeeds extends UsageStores {
  requestsPerSession: RateLimit
}

const unexplained = ({ at_ms, refusal: _, ...request }: LoggedRequest & { clientId: string }) => ({
  ...request,
  at: new Date(at_ms).toISOString(),
  ...{ cause: null, reason: null, advice: null },
})
