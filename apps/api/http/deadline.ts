import { unavailable } from '#shared/problems/problems.ts'
import { within } from '#shared/process/within.ts'
import type { ApiMiddleware } from './state.ts'

/**
 * Answers 503 when a request has not been answered after `deadline_ms`, however many slow statements it is made of.
 * Work that was begun continues and may still take effect, as with any 503.
 * @param ownDeadline the routes, such as `POST /v1/a/:b`, that wait for more than a store and bound that themselves.
 */
export function createDeadlineMiddleware({
  deadline_ms,
  ownDeadline,
}: {
  deadline_ms: number
  ownDeadline: readonly string[]
}): ApiMiddleware {
  return async (ctx, next) => {
    const answered = next().then(() => true)
    if (await within(deadline_ms, answered)) return
    const route = `${ctx.method} ${(ctx as { _matchedRoute?: unknown })._matchedRoute}`
    if (!ownDeadline.includes(route)) throw unavailable('This took too long. Try again in a moment.')
    await answered
  }
}
