import { within } from '#shared/process/within.ts'
import { unavailable } from '../problems/problems.ts'
import type { ApiMiddleware } from './state.ts'

/**
 * Answers 503 if a request has not been answered after `deadline_ms`, however many slow statements it runs.
 * Work already started continues and may still take effect, as with any 503. A route with a deadline of its
 * own bounds its waits itself.
 */
export function createDeadlineMiddleware(deadline_ms: number): ApiMiddleware {
  return async (ctx, next) => {
    const answer = next().then(() => true)
    if (await within(deadline_ms, answer)) return
    if (ctx.state.route?.deadline !== 'own') throw unavailable('The request timed out. Try again shortly.')
    await answer
  }
}
