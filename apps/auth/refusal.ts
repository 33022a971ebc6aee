import { type RateLimitVerdict, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { type Answer, answerUncached } from './answer.ts'

interface RefusalParts {
  status: number
  error: string
  description: string
  /** The reason in one word, for the log. */
  reason: string
  /** For the client's company: the scopes that the client does not have, or by how many seconds a date is off. */
  about?: string | undefined
  headers?: Record<string, string>
}

/** An error answer of RFC 6749 §5.2, and the reason, which the caller does not get. */
export class Refusal {
  readonly parts: Readonly<RefusalParts>

  constructor(parts: RefusalParts) {
    this.parts = parts
  }

  answer(errorPage: string): Answer {
    const { status, error, description, headers } = this.parts
    const body = { error, error_description: description, error_uri: `${errorPage}#oauth-${error}` }
    return answerUncached(body, status, headers)
  }
}

export const invalidRequest = (
  reason: string,
  description: string,
  headers: Record<string, string> = {},
): Refusal => new Refusal({ status: 400, error: 'invalid_request', description, reason, headers })

/** Those whose rate matters to operators: counted from zero. */
export const AUTHENTICATION_FAILURES = ['unknown_client', 'wrong_secret', 'no_secret', 'revoked_client']

/**
 * The same answer whatever was wrong. RFC 9110 §15.5.2 wants a challenge with every 401; RFC 6749 §5.2 allows it
 * however the client authenticated.
 */
export const invalidClient = (reason: string, about?: string): Refusal =>
  new Refusal({
    status: 401,
    error: 'invalid_client',
    description: 'client authentication failed',
    reason,
    about,
    headers: { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' },
  })

function tryAgain(status: number, why: string, reason: string, headers: Record<string, string>): Refusal {
  const description = `${why}: try again after the time in Retry-After`
  return new Refusal({ status, error: 'temporarily_unavailable', description, reason, headers })
}

export const tooManyRequests = (reason: string, rate: RateLimitVerdict): Refusal =>
  tryAgain(429, 'too many requests', reason, rateLimitHeaders(rate))

/** The stores could not be asked. Never access, never a verdict on the credentials. */
export const unavailable = (reason: string): Refusal =>
  tryAgain(503, 'temporarily unavailable', reason, { 'Retry-After': '2' })
