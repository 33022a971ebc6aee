import type { IncomingMessage } from 'node:http'
import type { RequestContext } from '#shared/http/request-context.ts'
import type { ClientCredentials } from '#shared/oauth/client-credentials.ts'
import { type RateLimitVerdict, rateLimitHeaders } from '#shared/stores/rate-limit.ts'

/** A request, and what the handler learns about it. */
export interface OAuthExchange {
  readonly request: IncomingMessage
  readonly context: RequestContext
  readonly path: string
  /** What follows the question mark. Empty if nothing does. */
  readonly query: string
  /** The client that the request claims to come from. It is only logged and decides nothing. */
  clientId?: string | undefined
  /** That client's record, if it exists, and whether the credentials proved it. */
  client?: { record: ClientCredentials; proven: boolean }
  /** The authenticated client's rate, which every answer to it states in the RateLimit fields. */
  rate?: RateLimitVerdict
  /** Makes the assertion that this request used usable again, for an answer that says to try again. */
  undoUse?: (() => Promise<unknown>) | undefined
  refusal?: OAuthRefusal
}

/** @throws ClientGone when the sender has disconnected. Any other error becomes a 500. */
export type Handler = (exchange: OAuthExchange) => Result | Promise<Result>
type Result = HttpAnswer | OAuthRefusal

/** What a handler answers. The server adds the request id and the RateLimit fields. */
export interface HttpAnswer {
  readonly status: number
  readonly body: string | Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** RFC 6749 §5.1: an answer that can hold a token must not be cached. Errors are treated the same way. */
const UNCACHED = Object.freeze({ 'Cache-Control': 'no-store', Pragma: 'no-cache' })
const UNCACHED_JSON = Object.freeze({ 'Content-Type': 'application/json', ...UNCACHED })

export const answerUncached = (
  body: object,
  status = 200,
  headers: Record<string, string> = {},
): HttpAnswer => ({ status, body: JSON.stringify(body), headers: { ...UNCACHED_JSON, ...headers } })

/** 200 without a body, and without a Content-Type, which would make clients try to parse it. */
export const EMPTY: HttpAnswer = Object.freeze({ status: 200, body: '', headers: UNCACHED })

interface RefusalParts {
  status: number
  error: string
  description: string
  /** The reason in one word, for the log. */
  reason: string
  /** For the client's company, such as the scopes that the client lacks or the seconds a date is off. */
  about?: string | undefined
  headers?: Record<string, string>
}

/** An error response (RFC 6749 §5.2), and the reason, which the caller does not see. */
export class OAuthRefusal {
  readonly parts: Readonly<RefusalParts>

  constructor(parts: RefusalParts) {
    this.parts = parts
  }

  answer(errorPage: string): HttpAnswer {
    const { status, error, description, headers } = this.parts
    const body = { error, error_description: description, error_uri: `${errorPage}#oauth-${error}` }
    return answerUncached(body, status, headers)
  }
}

export const invalidRequest = (
  reason: string,
  description: string,
  headers: Record<string, string> = {},
): OAuthRefusal => new OAuthRefusal({ status: 400, error: 'invalid_request', description, reason, headers })

/** Reasons that operators watch. Their counters start at zero. */
export const AUTHENTICATION_FAILURES = [
  'unknown_client',
  'wrong_secret',
  'no_secret',
  'revoked_client',
  'failures_of_address',
]

/**
 * The caller gets the same answer for every reason. RFC 9110 §15.5.2 requires a challenge with a 401, and
 * RFC 6749 §5.2 allows it however the client authenticated.
 */
export const invalidClient = (reason: string, about?: string): OAuthRefusal =>
  new OAuthRefusal({
    status: 401,
    error: 'invalid_client',
    description: 'client authentication failed',
    reason,
    about,
    headers: { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' },
  })

function tryAgain(status: number, why: string, reason: string, headers: Record<string, string>) {
  const description = `${why}: try again after the time in Retry-After`
  return new OAuthRefusal({ status, error: 'temporarily_unavailable', description, reason, headers })
}

export const tooManyRequests = (reason: string, rate: RateLimitVerdict): OAuthRefusal =>
  tryAgain(429, 'too many requests', reason, rateLimitHeaders(rate))

/** A store could not be asked. Says nothing about the credentials, and grants nothing. */
export const tryLater = (reason: string): OAuthRefusal =>
  tryAgain(503, 'temporarily unavailable', reason, { 'Retry-After': '2' })
