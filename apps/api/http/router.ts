import Router from '@koa/router'
import type { Middleware } from 'koa'
import { Problem } from '../problems/problems.ts'
import type { RouteDescription } from './route.ts'
import type { ApiMiddleware, ApiRouter, ApiState, MatchedRoute, ServedRoute } from './state.ts'

/** What a router serves at a path. */
export interface Endpoint extends ServedRoute {
  method: RouteDescription['method']
  handler: ApiMiddleware
}

/** Returns the path as OpenAPI writes it: `{vendorId}` for `:vendorId`. */
export const pathTemplate = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')

/**
 * Creates a router of the endpoints, which sets `ctx.state.route` to the one that matched. Paths match
 * exactly, including case and a trailing slash.
 */
export function createRouter(endpoints: readonly Endpoint[]): ApiRouter {
  const router: ApiRouter = new Router<ApiState>({ sensitive: true, strict: true })
  for (const endpoint of endpoints) {
    const route: MatchedRoute = { ...endpoint, pattern: pathTemplate(endpoint.path) }
    router[endpoint.method](endpoint.path, (ctx, next) => {
      ctx.state.route = route
      return endpoint.handler(ctx, next)
    })
  }
  return router
}

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
