import type { IncomingMessage } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Middleware } from 'koa'
import type { RequestContext } from '#shared/http/request-context.ts'
import type { Log } from '#shared/process/log.ts'
import { STANDARD_FIELDS, setMissing } from './fields.ts'
import type { ApiContext, ApiState } from './state.ts'

/** Requested about every second by whatever monitors the process. */
const PROBES: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz'])

/** The state of a request that has begun. Its log is made when it is first needed. */
function newState(request: RequestContext, parent: Log): ApiState {
  let log: Log | undefined
  return {
    request,
    fields: ['X-Request-Id', request.requestId, ...STANDARD_FIELDS],
    get log() {
      log ??= parent.child({ requestId: request.requestId })
      return log
    },
  }
}

/**
 * Gives each request an id and the default headers, and logs one line when it is answered. The line names the
 * route, not the path or the query, which may contain something that a caller put there by mistake.
 * @param onAnswered is called after that.
 */
export function createRequestMiddleware(
  log: Log,
  readContext: (request: IncomingMessage) => RequestContext,
  onAnswered: (request: Pick<ApiContext, 'method' | 'status' | 'state'>) => void,
): Middleware<ApiState> {
  return async (ctx, next) => {
    const started_ms = performance.now()
    const request = readContext(ctx.req)
    const state = newState(request, log)
    ctx.state = state
    await next()
    if (!ctx.res.headersSent) setMissing(ctx.res, state.fields)
    const route = state.route?.path
    const fields = {
      event: 'request.answered' as const,
      requestId: request.requestId,
      callerRequestId: request.callerRequestId,
      traceId: request.traceId,
      clientAddress: request.clientAddress,
      method: ctx.method,
      route,
      status: ctx.status,
      problem: state.problem?.code,
      vendorId: state.vendorId,
      userId: state.userId,
      clientId: state.client?.clientId,
      duration_ms: Math.round((performance.now() - started_ms) * 100) / 100,
    }
    if (PROBES.has(route)) log.debug(fields, 'request')
    else log.info(fields, 'request')
    onAnswered(ctx)
  }
}
