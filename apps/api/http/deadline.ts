import { within } from '#shared/process/within.ts'
import { unavailable } from '../problems/problems.ts'
import type { ApiMiddleware } from './state.ts'

/**
 * Answers 503 if a request has not been answered after `deadline_ms`, however many slow statements it runs,
 * or after `own_ms` if its route has a deadline of its own and bounds its waits itself. Work already started
 * continues and may still take effect, as with any 503.
 */
export function createDeadlineMiddleware(deadline_ms: number, own_ms: number): ApiMiddleware {
  return async (ctx, next) => {
    const answer = next().then(() => true)
    if (await within(deadline_ms, answer)) return
    const hasOwn = ctx.state.route?.deadline === 'own'
    if (hasOwn && (await within(own_ms - deadline_ms, answer))) return
    throw unavailable('The request timed out. Try again shortly.')
  }
}
