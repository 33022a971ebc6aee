import type { z } from 'zod'
import { failsIfMatch } from '#shared/http/entity-tag.ts'
import { Problem, type ProblemCode } from '../problems/problems.ts'
import { bodyReader } from './body.ts'
import { send } from './fields.ts'
import { headersReader, queryReader } from './input.ts'
import { throwIfAnswered } from './problem.ts'
import type { ApiContext, ApiMiddleware, ServedRoute } from './state.ts'

export type Security = { scheme: 'session' } | { scheme: 'accessToken'; scope: string }

/** Who may call a route. `Needs` are the services that the check uses. */
export interface Access<Caller extends object, Needs = unknown> {
  /** Returns the caller. @throws Problem when the caller is not allowed. */
  admit: (ctx: ApiContext, needs: Needs) => Promise<Caller>
  /** Returns the queue for the caller's handler, unless the route has its own deadline. Default: none. */
  turn?: (caller: Caller, needs: Needs) => Turn
  security?: Security
  /** Who they are, after "only". Default: everyone who satisfies `security`. */
  people?: string
  problems: readonly ProblemCode[]
}

/** Runs `handle` when the caller's turn comes. */
export type Turn = <T>(handle: () => Promise<T>) => Promise<T>

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
  access: Pick<Access<object, never>, 'security' | 'people' | 'problems'>
  query?: z.ZodObject
  headers?: z.ZodObject
  body?: z.ZodType
  /** Default: 64 KiB. */
  bodyLimit_bytes?: number
  /** The schema to publish where `body` accepts more, because the handler checks the rest. */
  publishedBody?: z.ZodType
  answers: Record<number, Answer>
  /** Problems besides those of `access` and of the input. */
  problems?: readonly ProblemCode[]
}

/** A route: its published description, and its handler, which needs a running service. */
export interface Route<Needs = unknown> extends RouteDescription {
  /** Returns the route's handler. */
  serve: (needs: Needs) => ApiMiddleware
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
export class SerializedJson {
  readonly bytes: Buffer

  constructor(value: object) {
    this.bytes = Buffer.from(JSON.stringify(value))
  }
}

interface Definition<
  Path extends string,
  Caller extends object,
  AccessNeeds,
  Needs,
  Query,
  Headers,
  Body,
  Answers,
> extends RouteDescription {
  path: Path
  access: Access<Caller, AccessNeeds>
  query?: Query & z.ZodObject
  headers?: Headers & z.ZodObject
  body?: Body & z.ZodType
  answers: Answers & Record<number, Answer>
  /**
   * Returns the answer's body. Its status is the lowest of `answers`, unless the handler sets another on
   * `ctx`.
   * @param needs the services that the handler uses.
   */
  handle(
    request: Caller & {
      params: Record<ParameterOf<Path>, string>
      query: Parsed<Query>
      headers: Parsed<Headers>
      body: Parsed<Body>
      /** For a route with its own deadline: takes the caller's turn, unless the request has been answered. */
      inTurn: Turn
    },
    needs: Needs,
    ctx: ApiContext,
  ): Promise<BodyOf<Answers> | SerializedJson>
}

/**
 * Defines a route: who may call it, its input, its answers and its handler. The published schemas are the
 * ones that validate, and the handler's types come from them. The order of checks is always caller, body,
 * query, headers.
 */
export function route<
  const Path extends string,
  Caller extends object,
  AccessNeeds,
  Answers,
  Needs = unknown,
  Query = undefined,
  Headers = undefined,
  Body = undefined,
>(
  definition: Definition<Path, Caller, AccessNeeds, Needs, Query, Headers, Body, Answers>,
): Route<AccessNeeds & Needs> {
  const { access, query, headers, body, answers, handle } = definition
  const readBody = body && bodyReader(body, definition.bodyLimit_bytes)
  const readQuery = query && queryReader(query)
  const readHeaders = headers && headersReader(headers)
  // Object.keys sorts numbers.
  const status = Number(Object.keys(answers)[0])
  const readsIfMatch = 'If-Match' in (headers?.shape ?? {})
  const serve = (needs: AccessNeeds & Needs): ApiMiddleware => {
    return async (ctx) => {
      const caller = await access.admit(ctx, needs)
      // A resource without an entity tag matches none.
      if (!readsIfMatch && failsIfMatch(ctx.headers['if-match'], undefined)) throw preconditionFailed()
      const input = {
        params: ctx.params,
        body: readBody && (await readBody(ctx)),
        query: readQuery?.(ctx),
        headers: readHeaders?.(ctx),
      }
      ctx.status = status
      const turn = access.turn?.(caller, needs) ?? ((work) => work())
      const inTurn: Turn = (work) =>
        turn(async () => {
          throwIfAnswered(ctx)
          return work()
        })
      const run = () => handle({ ...caller, ...input, inTurn } as Parameters<typeof handle>[0], needs, ctx)
      sendAnswer(ctx, await (definition.deadline ? run() : inTurn(run)))
    }
  }
  return { ...definition, serve }
}

function sendAnswer(ctx: ApiContext, body: unknown): void {
  if (body instanceof SerializedJson) {
    ctx.respond = false
    const fields = [...ctx.state.fields, 'Content-Type', 'application/json; charset=utf-8']
    send(ctx.res, { status: ctx.status, fields, bytes: body.bytes })
  } else if (body !== undefined) ctx.body = body
  // Koa answers 204 when the body is null, unless the status is set after it.
  else if (ctx.status === 202) {
    ctx.body = null
    ctx.status = 202
  }
}

/** A request with If-Match must not be carried out unless a tag matches (RFC 9110 §13.1.1). */
export const preconditionFailed = (): Problem =>
  new Problem('precondition_failed', 'If-Match does not match the current ETag.')
