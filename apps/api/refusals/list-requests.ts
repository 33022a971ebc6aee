import { z } from 'zod'
import { requireClient } from '../clients/client.ts'
import { instant } from '../http/instant.ts'
import { route } from '../http/route.ts'
import { canView } from '../people/access.ts'
import { unavailable } from '../problems/problems.ts'
import { refusalCause } from '../usage/failing.ts'
import { readRequestLog } from '../usage/request-log.ts'
import type { UsageStores } from '../usage/windows.ts'
import { explainRefusal } from './reasons.ts'

const OAuthClientRequests = z
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
          description:
            'Why it was refused. null if it was granted, failed with a 5xx status, or if that is no longer known.',
        }),
        advice: z.string().nullable(),
      }),
    ),
    since: instant.meta({ description: 'Older requests may be missing.' }),
    skipped: z.int().meta({ description: 'Unreadable entries.' }),
  })
  .meta({ id: 'OAuthClientRequests' })

/** The authorization server's routes. None of this API's begins so. */
const AUTH_ROUTE = /^[A-Z]+ \/v1\/oauth\//

export const listRequestsRoute = route({
  method: 'get',
  path: '/v1/vendor/:vendorId/oauth-clients/:clientId/requests',
  operationId: 'listRequests',
  tag: 'Clients',
  summary: 'List the latest requests of a client, newest first',
  description:
    'The last 200, granted or refused, until it has sent none for 14 days. Refused ones that anyone could have sent, such as those with a wrong secret, are added for 24 hours.',
  access: canView,
  answers: { 200: { description: 'Its requests.', schema: OAuthClientRequests } },
  problems: ['not_found'],
  async handle({ vendorId, params: { clientId } }, { db, redis, clock }: UsageStores) {
    const client = await requireClient(db, vendorId, clientId)
    const [createdAt_ms, now_ms] = [client.createdAt.getTime(), clock.now()]
    const log = await readRequestLog(redis, { vendorId, clientId, createdAt_ms, now_ms }).catch(
      (error: unknown) => {
        throw unavailable('We cannot read the record of requests right now.', error)
      },
    )
    const requests = log.requests.map(({ at_ms, refusal, ...request }) => {
      const service: 'auth' | 'api' = AUTH_ROUTE.test(request.route) ? 'auth' : 'api'
      const { reason, advice } = refusal ? explainRefusal(refusal, client) : { reason: null, advice: null }
      return {
        ...request,
        at: new Date(at_ms).toISOString(),
        service,
        cause: refusal?.reason ?? null,
        reason,
        advice,
      }
    })
    return { requests, since: new Date(log.since_ms).toISOString(), skipped: log.skipped }
  },
})
