import type { ClientUsage } from '#shared/usage/client-usage.ts'
import { isUnknownName } from '../http/input.ts'
import type { ApiContext, ApiState } from '../http/state.ts'
import type { Problem } from '../problems/problems.ts'

/** Matches field names and list positions only, so nothing that a caller put there by mistake. */
const PLAIN_POINTER = /^[?/][A-Za-z0-9/]{0,60}$/
const POINTERS_MAX = 3

/**
 * Records an answered request of a client, for its company. The record has the route, but no path or query.
 */
export function recordClientRequest(
  usage: Pick<ClientUsage, 'recordRequest'>,
  { method, status, state }: Pick<ApiContext, 'method' | 'status' | 'state'>,
): void {
  const { client, request, route, problem } = state
  if (!client) return
  const refusal = describeRefusal(state)
  usage.recordRequest({
    clientId: client.clientId,
    vendorId: client.vendorId,
    proven: state.refusal?.proven ?? true,
    requestId: request.requestId,
    address: request.clientAddress,
    route: `${method} ${route?.pattern}`,
    status,
    code: problem?.code,
    reason: refusal?.reason,
    about: refusal?.about,
  })
}

/** Returns why the client was refused, or undefined if its company cannot change that. */
function describeRefusal({ problem, refusal }: ApiState): ApiState['refusal'] {
  if (!problem || problem.status >= 500) return undefined
  return { reason: refusal?.reason ?? problem.code, about: refusal?.about ?? describeErrors(problem) }
}

function describeErrors({ errors = [] }: Problem): string | undefined {
  const plainErrors = errors
    .filter((error) => PLAIN_POINTER.test(error.pointer) && !isUnknownName(error))
    .slice(0, POINTERS_MAX)
  return plainErrors.length === 0
    ? undefined
    : plainErrors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
}
