import type { z } from 'zod'
import type { ProblemCode } from '#shared/problems.ts'
import type { Access, Answer, Security } from './route.ts'
import type { ApiMiddleware } from './state.ts'

/** What a middleware or handler adds to the OpenAPI description of each route that it stands in. */
export interface Documentation {
  summary?: string
  description?: string
  tag?: string
  /** Who may call: nobody in particular when no middleware of the route says. */
  security?: Security
  query?: z.ZodObject
  /** Header fields that a caller may send. */
  headers?: z.ZodObject
  body?: z.ZodType
  answers?: Record<number, Answer>
  problems?: readonly ProblemCode[]
}

const documentation = new WeakMap<object, Documentation>()

/**
 * Says what `middleware` means for the routes that use it, in the route definition itself, so that the published
 * OpenAPI document cannot tell anything else than what is done.
 * @returns the same middleware.
 */
export function documented<T extends ApiMiddleware>(middleware: T, about: Documentation): T {
  documentation.set(middleware, about)
  return middleware
}

export const documentationOf = (middleware: object): Documentation => documentation.get(middleware) ?? {}

/** An access as a middleware. */
export function admitting({ admit, security, problems }: Access<object>): ApiMiddleware {
  const middleware: ApiMiddleware = async (ctx, next) => {
    await admit(ctx)
    await next()
  }
  return documented(middleware, { ...(security && { security }), problems })
}
