import type { IncomingMessage } from 'node:http'
import type { RequestContext } from '#shared/process/request-context.ts'
import type { Answer } from './answer.ts'
import { invalidRequest, type Refusal } from './refusal.ts'

export interface RouteRequest {
  readonly request: IncomingMessage
  readonly context: RequestContext
  readonly path: string
  /** What follows the question mark; empty when there is none. */
  readonly query: string
}

/** @throws ClientGone when there is nobody to answer; anything else becomes a 500. */
export type Handler = (request: RouteRequest) => Answer | Promise<Answer>

/** RFC 6749 §2.3.1: credentials are never in the request URI, where every log on the way keeps them. */
export function credentialsInQuery(query: string, fields: ReadonlySet<string>): Refusal | undefined {
  if (query === '') return undefined
  for (const name of new URLSearchParams(query).keys()) {
    if (fields.has(name)) return invalidRequest('field_in_query', `${name} must be sent in the body`)
  }
  return undefined
}

export const missing = (field: string): Refusal => invalidRequest('field_missing', `${field} is missing`)
