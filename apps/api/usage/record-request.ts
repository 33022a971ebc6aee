import type { ClientUsage } from '#shared/usage/client-usage.ts'
import type { ApiContext } from '../http/state.ts'

/**
 * Records an answered request of a client, for its company. The record has the route, but no path or query.
 */
export function recordClientRequest(
  usage: Pick<ClientUsage, 'recordRequest'>,
  { method, status, state }: Pick<ApiContext, 'method' | 'status' | 'state'>,
): void {
  const { client, request, route, problem, refusal } = state
  if (!client) return
  usage.recordRequest({
    clientId: client.clientId,
    vendorId: client.vendorId,
    // An expired token may have been leaked and found, so it proves nothing about its sender.
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
