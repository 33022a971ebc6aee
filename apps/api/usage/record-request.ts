import type { ClientUsage } from '#shared/usage/client-usage.ts'
import type { ApiContext } from '../http/state.ts'

/** Records an answered request of a client, for its company. It names the route, not the path or the query. */
export function recordRequest(
  usage: Pick<ClientUsage, 'answered'>,
  { method, status, state }: Pick<ApiContext, 'method' | 'status' | 'state'>,
): void {
  const { client, request, route, problem, refusal } = state
  if (!client) return
  usage.answered({
    clientId: client.clientId,
    vendorId: client.vendorId,
    // Anyone may have found an expired token by now.
    proven: refusal?.reason !== 'expired',
    requestId: request.requestId,
    address: request.clientAddress,
    route: `${method} ${route?.pattern}`,
    status,
    code: problem,
    reason: refusal?.reason,
    about: refusal?.about,
  })
}
