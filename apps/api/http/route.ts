import type { z } from 'zod'
import { failsIfMatch } from '#shared/http/entity-tag.ts'
import type { Scope } from '#shared/oauth/scopes.ts'
import { Problem, type ProblemCode } from '#shared/problems/problems.ts'
import { type BodyOptions, bodyReader } from './body.ts'
import { send } from './fields.ts'
import { headersReader, queryReader } from './input.ts'
import { createRouter } from './routes.ts'
import type {
  AccessTokenState,
  ApiContext,
  ApiMiddleware,
  ApiRouter,
  MatchedRoute,
  ServedRoute,
} from './state.ts'

export type Security = { scheme: 'session' } | { scheme: 'accessToken'; scope: Scope }

/** Who may call a route. */
export interface Access<Caller extends object> {
  /** Returns the caller. @throws Problem when the caller is not allowed. */
  admit(ctx: ApiContext): Promise<Caller>
  /** Has a handler wait for the caller's turn, unless the route has a deadline of its own. Default: none waits. */
  turn?<T>(caller: Caller, handle: () => Promise<T>): Promise<T>
  security?: Security
  problems: readonly ProblemCode[]
}

/**
 * Creates an access check for tokens with `scope` for the path's company. `askEarly` puts a question to a store while
 * the token itself is still being asked about, so that a request waits once. It must read nothing that only the caller
 * may know: a refused request drops its answer.
 */
export type RequireAccessToken = <Early = undefined>(
  scope: Scope,
  askEarly?: (token: AccessTokenState) => Promise<Early>,
) => Access<AccessTokenState & { early?: Promise<Early> | undefined }>

export const anyone: Access<object> = { admit: async () => ({}), problems: [] }

/** One successful answer of a route. */
export interface Answer {
  description: string
  schema?: z.ZodType
  /** Names of its header fields, which the document describes once for all routes. */
  headers?: readonly string[]
}

/** The published description of a route. */
export interface RouteDescription extends ServedRoute {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  operationId: string
  tag: string
  summary: string
  description: string
  by: Pick<Access<object>, 'security' | 'problems'>
  query?: z.ZodObject
  headers?: z.ZodObject
  body?: z.ZodType
  /** Published in place of `body`, which may leave more checks to the handler. */
  publishedBody?: z.ZodType
  answers: Record<number, Answer>
  /** Problems besides those of `by` and of the input. */
  problems?: readonly ProblemCode[]
}

export interface Route extends RouteDescription {
  handler: ApiMiddleware
}

type ParameterOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

type Parsed<Schema> = Schema extends z.ZodType ? z.infer<Schema> : undefined

type BodyOf<Answers> = {
  [Status in keyof Answers]: Answers[Status] extends { schema: infer Schema extends z.ZodType }
    ? z.infer<Schema>
    : undefined
}[keyof Answers]

/** A body in JSON, for an answer that is sent more often than it changes. */
export class Json {
  readonly bytes: Buffer

  constructor(value: object) {
    this.bytes = Buffer.from(JSON.stringify(value))
  }
}

interface Definition<Path extends string, Caller extends object, Query, Headers, Body, Answers>
  extends RouteDescription {
  path: Path
  by: Access<Caller>
  query?: Query & z.ZodObject
  headers?: Headers & z.ZodObject
  body?: Body & z.ZodType
  bodyOptions?: BodyOptions
  answers: Answers & Record<number, Answer>
  /**
   * Returns the body of the answer. Its status is the first of `answers` unless the handler sets another on `ctx`.
   */
  handle(
    request: Caller & {
      params: Record<ParameterOf<Path>, string>
      query: Parsed<Query>
      headers: Parsed<Headers>
      body: Parsed<Body>
    },
    ctx: ApiContext,
  ): Promise<BodyOf<Answers> | Json>
}

/**
 * Defines a route: who may call it, its input, its answers and its handler. The published schemas are the ones that
 * validate, and the handler's types come from them. The order of checks is always caller, body, query, headers.
 */
export function route<
  const Path extends string,
  Caller extends object,
  Answers,
  Query = undefined,
  Headers = undefined,
  Body = undefined,
>(definition: Definition<Path, Caller, Query, Headers, Body, Answers>): Route {
  const { by, query, headers, body, answers, handle } = definition
  const readBody = body && bodyReader(body, definition.bodyOptions)
  const readQuery = query && queryReader(query)
  const readHeaders = headers && headersReader(headers)
  const status = Number(Object.keys(answers)[0])
  const tagged = 'If-Match' in (headers?.shape ?? {})
  const handler: ApiMiddleware = async (ctx) => {
    const caller = await by.admit(ctx)
    // A resource without a tag matches none.
    if (!tagged && failsIfMatch(ctx.headers['if-match'], undefined)) throw preconditionFailed()
    const input = {
      params: ctx.params,
      body: readBody && (await readBody(ctx)),
      query: readQuery?.(ctx),
      headers: readHeaders?.(ctx),
    }
    ctx.status = status
    const handled = () => handle({ ...caller, ...input } as Parameters<typeof handle>[0], ctx)
    const returned = await (by.turn && definition.deadline === undefined
      ? by.turn(caller, handled)
      : handled())
    if (returned instanceof Json) {
      ctx.respond = false
      const fields = [...ctx.state.fields, 'Content-Type', 'application/json; charset=utf-8']
      send(ctx.res, { status: ctx.status, fields, bytes: returned.bytes })
    } else if (returned !== undefined) ctx.body = returned
  }
  return { ...definition, handler }
}

/** A request with If-Match must not be carried out unless a tag matches (RFC 9110 §13.1.1). */
export const preconditionFailed = (): Problem =>
  new Problem('precondition_failed', 'If-Match does not match the current ETag.')

/** A path as the documentation has it: `{vendorId}` for `:vendorId`. */
export const patternOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')

/** Serves the routes, and tells the middlewares around them which one matched. */
export function routerOf(
  routes: readonly Pick<Route, 'method' | 'path' | 'deadline' | 'handler'>[],
): ApiRouter {
  const router = createRouter()
  for (const route of routes) {
    const matched: MatchedRoute = { ...route, pattern: patternOf(route.path) }
    router[route.method](route.path, (ctx, next) => {
      ctx.state.route = matched
      return route.handler(ctx, next)
    })
  }
  return router
}
