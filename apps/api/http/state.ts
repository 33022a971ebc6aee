import type Router from '@koa/router'
import type { Middleware, ParameterizedContext } from 'koa'
import type { Log } from '#shared/process/log.ts'
import type { RequestContext } from '#shared/process/request-context.ts'

/** The person behind a session token. */
export interface SessionState {
  /** Names it to its user; it cannot be used in place of the token. */
  sessionId: string
  userId: string
  name: string
  email: string
  /** SHA-256 of the session token. */
  tokenHash: Buffer
  expiresAt: Date
}

/** What is learned about a request, for its log line and its answer. */
export interface ApiState {
  request: RequestContext
  /** Logs with the request's id. */
  log: Log
  /** Set once the session is known to be good. */
  session?: SessionState
  /** Set by a sign-in, which has no session yet. */
  userId?: string
  /** The company of the path, set once the caller may act for it. */
  vendorId?: string
  /** Set once the client's access token is known to be good and to suffice. */
  clientId?: string
  /** The `code` of the problem that was answered. */
  problem?: string
}

interface RouteParameters {
  params: Record<string, string>
}

export type ApiContext = ParameterizedContext<ApiState, RouteParameters>
export type ApiMiddleware = Middleware<ApiState, RouteParameters>
export type ApiRouter = Router<ApiState>
