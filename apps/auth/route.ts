import type { IncomingMessage } from 'node:http'
import type { RequestContext } from '#shared/http/request-context.ts'
import type { ClientCredentials } from '#shared/oauth/client-credentials.ts'
import type { RateLimitVerdict } from '#shared/stores/rate-limit.ts'
import type { Answer } from './answer.ts'
import type { Refusal } from './refusal.ts'

/** One request, and what is learned about it on the way. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly context: RequestContext
  readonly path: string
  /** What follows the question mark; empty when there is none. */
  readonly query: string
  /** The client that the request claims to come from. Only for the log; it decides nothing. */
  clientId?: string | undefined
  /** The record of that client, if it exists, and whether the secret matched. */
  client?: { record: ClientCredentials; proven: boolean }
  /** The rate of the client, once it is authenticated: every answer to it carries the RateLimit fields. */
  rate?: RateLimitVerdict
  refusal?: Refusal
}

/** @throws ClientGone when no one is left to answer; anything else becomes a 500. */
export type Handler = (exchange: Exchange) => Answer | Refusal | Promise<Answer | Refusal>
