import type { Middleware } from 'koa'
import { PROBLEMS, Problem, unavailable } from '../problems/problems.ts'
import { isUnavailable } from '../stores/postgres-errors.ts'
import type { ApiState } from './state.ts'

/** The URL of a problem's explanation in the documentation (RFC 9457 §3.1.1). */
const problemType = (apiResource: string, code: string): string =>
  `${apiResource}/docs/errors#problem-${code}`

/**
 * Answers every error that a handler throws as application/problem+json (RFC 9457). A database that is down
 * or too slow gives 503, any unexpected error 500. Both are logged here, once, without the request's content.
 */
export function createProblemMiddleware(apiResource: string): Middleware<ApiState> {
  return async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      const problem = toProblem(error)
      logFailure(ctx, problem, error)
      ctx.state.problem = problem
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

/** @throws Problem the answer that the caller already got: the deadline has passed, and they try again. */
export function throwIfAnswered({ state }: { state: ApiState }): void {
  if (state.problem) throw state.problem
}

/**
 * Logs `error` with its stack if `problem`, the answer to the caller, reports a failure of the service
 * itself. A bug is an error. An unavailable store or key is a warning, since every request repeats it.
 */
export function logFailure({ state }: { state: ApiState }, problem: Problem, error: unknown): void {
  if (problem.status < 500) return
  const cause = problem === error ? problem.cause : error
  const level = problem.code === 'internal' ? 'error' : 'warn'
  state.log[level](
    { event: 'request.failed', problem: problem.code, ...describeCause(cause) },
    'request failed',
  )
}

/** Returns the problem that reports an error to the caller. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (isUnavailable(error)) return unavailable('A backing service is unavailable. Try again shortly.', error)
  return new Problem('internal', 'Internal error. It has been logged.')
}

function describeCause(error: unknown): { error?: string; stack?: string | undefined } {
  if (error === undefined) return {}
  return error instanceof Error ? { error: error.message, stack: error.stack } : { error: String(error) }
}
