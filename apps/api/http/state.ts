import type Router from '@koa/router'
import type { Middleware, ParameterizedContext } from 'koa'
import type { RequestContext } from '#shared/http/request-context.ts'
import type { Log } from '#shared/process/log.ts'
import type { Problem } from '../problems/problems.ts'

/** What middlewares need to know about a route. */
export interface ServedRoute {
  /** As Koa's router takes it, such as `/v1/vendor/:vendorId/people`. */
  path: string
  /**
   * `own`: it waits for more than a store, such as a receiver elsewhere, and bounds that itself. It skips the
   * caller's queue too, and takes its turn itself, if at all.
   */
  deadline?: 'own'
}

export interface MatchedRoute extends ServedRoute {
  /** The path as the documentation has it, such as `/v1/vendor/{vendorId}/people`. */
  pattern: string
}

/** The content of `ctx.state`, which the middlewares before a handler set. */
export interface ApiState {
  request: RequestContext
  /** Logs with the request's id. */
  log: Log
  /** Header fields of the answer: names and values in turn. The response's own fields replace them. */
  fields: string[]
  /** The route that matched, once one has. */
  route?: MatchedRoute
  /** The person, set once the session is verified, or by a sign-in. */
  userId?: string
  /** The company of the path, set once the caller may act for it. */
  vendorId?: string
  /** The authenticated client, set before authorization. */
  client?: { clientId: string; vendorId: string }
  /**
   * Why that client is refused, more precisely than in the problem: a word, and the scope or fields. Not
   * `proven`: someone else may have sent the request.
   */
  refusal?: { reason: string; about?: string | undefined; proven?: boolean } | undefined
  /** The problem that was answered. */
  problem?: Problem
}

interface RouteParameters {
  params: Record<string, string>
}

export type ApiContext = ParameterizedContext<ApiState, RouteParameters>
export type ApiMiddleware = Middleware<ApiState, RouteParameters>
export type ApiRouter = Router<ApiState>
