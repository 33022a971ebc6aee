import Router from '@koa/router'
import type { Middleware } from 'koa'
import { Problem } from '../problems/problems.ts'
import type { ApiRouter, ApiState } from './state.ts'

/** A router whose paths match exactly, including case and a trailing slash. */
export const createRouter = (): ApiRouter => new Router<ApiState>({ sensitive: true, strict: true })

/** Answers requests that match no route: 405 with Allow (RFC 9110 §15.5.6) for a known path, else 404. */
export function createUnmatchedMiddleware(routers: readonly ApiRouter[]): Middleware<ApiState> {
  const layers = routers.flatMap((router) => router.stack)
  return (ctx) => {
    const methods = layers.filter((layer) => layer.match(ctx.path)).flatMap((layer) => layer.methods)
    if (methods.length === 0) throw new Problem('not_found', 'No such path.')
    throw new Problem('method_not_allowed', 'See the Allow header for the methods this path supports.', {
      headers: { Allow: [...new Set(methods)].sort().join(', ') },
    })
  }
}
