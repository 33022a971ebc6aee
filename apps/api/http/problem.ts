import type { Middleware, ParameterizedContext } from 'koa'
import { PROBLEMS, Problem, unavailable } from '#shared/problems/problems.ts'
import { isUnavailable } from '#shared/stores/postgres-errors.ts'
import type { ClientUsage } from '#shared/usage/client-usage.ts'
import { UNKNOWN_MEMBER } from './input.ts'
import type { ApiState } from './state.ts'

/** The URL of a problem's explanation in the documentation (RFC 9457 §3.1.1). */
export const problemType = (apiResource: string, code: string): string =>
  `${apiResource}/docs/errors#problem-${code}`

/**
 * Answers whatever a handler throws as application/problem+json (RFC 9457). A database that is down or too slow is
 * 503, anything unforeseen 500. Both are logged here, once, with nothing of the request.
 */
export function createProblemMiddleware({
  apiResource,
  usage,
}: {
  apiResource: string
  usage: Pick<ClientUsage, 'refused'>
}): Middleware<ApiState> {
  return async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      const problem = asProblem(error)
      logFailure(ctx, problem, error)
      ctx.state.problem = problem.code
      noteRefusal(ctx, problem, usage)
      ctx.status = problem.status
      ctx.set(problem.headers)
      ctx.set('Cache-Control', 'no-store')
      ctx.type = 'application/problem+json'
      ctx.body = JSON.stringify({
        type: problemType(apiResource, problem.code),
        title: PROBLEMS[problem.code].title,
        status: problem.status,
        detail: problem.detail,
        code: problem.code,
        requestId: ctx.state.request.requestId,
        ...(problem.errors && { errors: problem.errors }),
      })
    }
  }
}

/**
 * Logs `error` with its stack if `problem`, which is what the caller hears of it, is the service's own fault: a bug as
 * an error, a store or a key that is away as a warning, since everyone's requests repeat it.
 */
export function logFailure({ state }: { state: ApiState }, problem: Problem, error: unknown): void {
  if (problem.status < 500) return
  const cause = problem === error ? problem.cause : error
  const level = problem.code === 'internal' ? 'error' : 'warn'
  state.log[level]({ problem: problem.code, ...described(cause) }, 'request failed')
}

const NOTED_STATUS = [401, 403, 422, 429]
/** Field names and list positions. Anything a caller put there by mistake looks different. */
const PLAIN_POINTER = /^[?/][A-Za-z0-9/]{0,60}$/
const POINTERS_NOTED = 3

function noteRefusal(
  ctx: ParameterizedContext<ApiState>,
  problem: Problem,
  usage: Pick<ClientUsage, 'refused'>,
): void {
  const { client, refusal, request, route } = ctx.state
  if (!client || !NOTED_STATUS.includes(problem.status)) return
  const { code, status } = problem
  const about = refusal?.about ?? faultsOf(problem)
  usage.refused({
    ...client,
    // An expired token may be anyone's find by now.
    proven: refusal?.reason !== 'expired',
    requestId: request.requestId,
    route: `${ctx.method} ${route?.path.replaceAll(/:(\w+)/g, '{$1}')}`,
    status,
    code,
    reason: refusal?.reason ?? code,
    ...(about !== undefined && { about }),
  })
}

function faultsOf({ errors = [] }: Problem): string | undefined {
  const faults = errors
    .filter(({ pointer, detail }) => PLAIN_POINTER.test(pointer) && detail !== UNKNOWN_MEMBER)
    .slice(0, POINTERS_NOTED)
  return faults.length === 0
    ? undefined
    : faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
}

/** @returns what the caller hears of an error. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (isUnavailable(error))
    return unavailable('A part of the service does not answer. Try again in a moment.', error)
  return new Problem('internal', 'The request failed for a reason that is not yours. It has been logged.')
}

function described(error: unknown): { error?: string; stack?: string | undefined } {
  if (error === undefined) return {}
  return error instanceof Error ? { error: error.message, stack: error.stack } : { error: String(error) }
}
