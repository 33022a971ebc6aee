/** An error answer of RFC 6749 §5.2, and the reason that only the audit log learns. */
export class Refusal {
  readonly status: number
  readonly error: string
  readonly description: string
  /** For the log: why, in one word. */
  readonly reason: string
  readonly headers: Readonly<Record<string, string>>

  constructor({
    status,
    error,
    description,
    reason,
    headers = {},
  }: {
    status: number
    error: string
    description: string
    reason: string
    headers?: Record<string, string>
  }) {
    this.status = status
    this.error = error
    this.description = description
    this.reason = reason
    this.headers = headers
  }
}

export const invalidRequest = (
  reason: string,
  description: string,
  headers?: Record<string, string>,
): Refusal =>
  new Refusal({ status: 400, error: 'invalid_request', description, reason, ...(headers && { headers }) })

export type InvalidClientReason = 'unknown_client' | 'revoked_client' | 'wrong_secret' | 'no_secret'

/**
 * The same answer whatever was wrong. The challenge is for who used the Authorization header (RFC 6749 §5.2).
 */
export const invalidClient = (reason: InvalidClientReason, usedHeader: boolean): Refusal =>
  new Refusal({
    status: 401,
    error: 'invalid_client',
    description: 'client authentication failed',
    reason,
    headers: usedHeader ? { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' } : {},
  })

export const tooManyRequests = (reason: string, headers: Record<string, string>): Refusal =>
  new Refusal({
    status: 429,
    error: 'temporarily_unavailable',
    description: 'too many requests: wait for as long as Retry-After says',
    reason,
    headers,
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
