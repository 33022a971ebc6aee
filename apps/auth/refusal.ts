import { type Answer, UNCACHED } from './answer.ts'

/** An error answer of RFC 6749 §5.2, and the reason that only the audit log learns. */
export class Refusal {
  readonly answer: Answer
  readonly error: string
  /** For the log: why, in one word. */
  readonly reason: string

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
    const body = JSON.stringify({ error, error_description: description })
    // Some refusals answer many requests.
    this.answer = Object.freeze({ status, body, headers: Object.freeze({ ...UNCACHED, ...headers }) })
    this.error = error
    this.reason = reason
  }
}

export const invalidRequest = (
  reason: string,
  description: string,
  headers?: Record<string, string>,
): Refusal =>
  new Refusal({ status: 400, error: 'invalid_request', description, reason, ...(headers && { headers }) })

export type InvalidClientReason = 'unknown_client' | 'revoked_client' | 'wrong_secret' | 'no_secret'

/** Without and with the challenge, which is for who used the Authorization header (RFC 6749 §5.2). */
function invalidClientBothWays(reason: InvalidClientReason): readonly [Refusal, Refusal] {
  const told = { status: 401, error: 'invalid_client', description: 'client authentication failed', reason }
  const challenge = { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' }
  return [new Refusal(told), new Refusal({ ...told, headers: challenge })]
}

/** Made once: a flood of wrong secrets is refused with them. */
const INVALID_CLIENT = {
  unknown_client: invalidClientBothWays('unknown_client'),
  revoked_client: invalidClientBothWays('revoked_client'),
  wrong_secret: invalidClientBothWays('wrong_secret'),
  no_secret: invalidClientBothWays('no_secret'),
}

/** The same answer whatever was wrong. */
export const invalidClient = (reason: InvalidClientReason, usedHeader: boolean): Refusal =>
  INVALID_CLIENT[reason][usedHeader ? 1 : 0]

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
