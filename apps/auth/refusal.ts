import { type RateLimitVerdict, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { type Answer, UNCACHED_JSON } from './answer.ts'

/** An error answer of RFC 6749 §5.2, and the reason, which the caller does not get. */
export class Refusal {
  readonly status: number
  readonly error: string
  readonly description: string
  /** For the log: why, in one word. */
  readonly reason: string
  /** For the client's company: the scopes that the client does not have. Never anything else that was sent. */
  readonly about: string | undefined
  readonly #headers: Record<string, string>

  constructor({
    status,
    error,
    description,
    reason,
    about,
    headers = {},
  }: {
    status: number
    error: string
    description: string
    reason: string
    about?: string | undefined
    headers?: Record<string, string>
  }) {
    this.status = status
    this.error = error
    this.description = description
    this.reason = reason
    this.about = about
    this.#headers = headers
  }

  /** @param errorPage the address of the page that explains each error. */
  answer(errorPage: string): Answer {
    const { status, error, description } = this
    const body = { error, error_description: description, error_uri: `${errorPage}#oauth-${error}` }
    return { status, body: JSON.stringify(body), headers: { ...UNCACHED_JSON, ...this.#headers } }
  }
}

export const invalidRequest = (
  reason: string,
  description: string,
  headers?: Record<string, string>,
): Refusal =>
  new Refusal({ status: 400, error: 'invalid_request', description, reason, ...(headers && { headers }) })

/** RFC 9110 §15.5.2 wants a challenge with every 401; RFC 6749 §5.2 allows it however the client authenticated. */
const unauthenticated = (reason: string): Refusal =>
  new Refusal({
    status: 401,
    error: 'invalid_client',
    description: 'client authentication failed',
    reason,
    headers: { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' },
  })

/** Made once, since they answer floods of wrong secrets. */
const INVALID_CLIENT = {
  unknown_client: unauthenticated('unknown_client'),
  revoked_client: unauthenticated('revoked_client'),
  wrong_secret: unauthenticated('wrong_secret'),
  no_secret: unauthenticated('no_secret'),
}

/** The same answer whatever was wrong. */
export const invalidClient = (reason: keyof typeof INVALID_CLIENT): Refusal => INVALID_CLIENT[reason]

export const tooManyRequests = (reason: string, rate: RateLimitVerdict): Refusal =>
  new Refusal({
    status: 429,
    error: 'temporarily_unavailable',
    description: 'too many requests: try again after the time in Retry-After',
    reason,
    headers: rateLimitHeaders(rate),
  })

const RETRY_AFTER_S = 2

/** The stores could not be asked. Never access, never a verdict on the credentials. */
export const unavailable = (reason: string): Refusal =>
  new Refusal({
    status: 503,
    error: 'temporarily_unavailable',
    description: 'the service cannot decide right now: try again',
    reason,
    headers: { 'Retry-After': String(RETRY_AFTER_S) },
  })
