import { CALLBACK_URL_PROBLEMS, type CallbackUrlProblemCode } from './callback-url-problems.ts'

const CALLBACK_URL_REFUSED = { status: 422, title: 'The callback URL is not allowed' } as const
const callbackUrlProblems = Object.fromEntries(
  Object.keys(CALLBACK_URL_PROBLEMS).map((code) => [code, CALLBACK_URL_REFUSED]),
) as Record<CallbackUrlProblemCode, typeof CALLBACK_URL_REFUSED>

/**
 * Every problem that the resource API can answer with (RFC 9457), with its status and title. The key is
 * `code`, which callers may rely on. `title` and `detail` are for people and may change.
 */
export const PROBLEMS = {
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_request: { status: 400, title: 'The request is not well formed' },
  unauthenticated: { status: 401, title: 'Authentication is required' },
  invalid_token: { status: 401, title: 'The access token is not valid' },
  invalid_credentials: { status: 401, title: 'Email or password is incorrect' },
  forbidden: { status: 403, title: 'You are not allowed to do this' },
  recent_sign_in_required: { status: 403, title: 'Sign in again to do this' },
  insufficient_scope: { status: 403, title: 'The access token lacks a required scope' },
  not_found: { status: 404, title: 'Not found' },
  invitation_not_valid: { status: 404, title: 'The invitation is not valid' },
  password_reset_not_valid: { status: 404, title: 'The link to set a new password is not valid' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'The body took too long to arrive' },
  client_limit_reached: { status: 409, title: 'The company has reached its limit of active clients' },
  idempotency_in_progress: {
    status: 409,
    title: 'The first request with this Idempotency-Key is still running',
  },
  already_member: { status: 409, title: 'The person already belongs to the company' },
  owner_required: { status: 409, title: 'The company needs an active owner' },
  people_limit_reached: { status: 409, title: 'The company has reached its limit of people' },
  callback_not_configured: { status: 409, title: 'No callback URL is saved' },
  test_in_progress: { status: 409, title: 'A test event is being sent' },
  precondition_failed: { status: 412, title: 'If-Match does not match the current ETag' },
  payload_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body must be JSON' },
  invalid_input: { status: 422, title: 'The input is not valid' },
  ...callbackUrlProblems,
  idempotency_key_reused: { status: 422, title: 'This Idempotency-Key was used with a different body' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  bad_gateway: { status: 502, title: 'The upstream service did not respond' },
  unavailable: { status: 503, title: 'The service is temporarily unavailable' },
  gateway_timeout: { status: 504, title: 'The upstream service timed out' },
} as const satisfies Record<string, { status: number; title: string }>

export type ProblemCode = keyof typeof PROBLEMS

/** One thing that is wrong with the input. */
export interface InputError {
  /** RFC 6901 pointer into the body, or `?name` for a query parameter. */
  pointer: string
  detail: string
}

/**
 * Thrown by a handler. The error middleware writes it as application/problem+json. It has no stack trace,
 * because it is an answer and a flood of refusals should not pay for traces that no one reads. If it reports
 * an internal failure, that error is its `cause`.
 */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly detail: string
  readonly errors: readonly InputError[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ProblemCode,
    detail: string,
    { errors, headers = {} }: { errors?: readonly InputError[]; headers?: Record<string, string> } = {},
  ) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(detail)
    Error.stackTraceLimit = stackTraceLimit
    this.code = code
    this.status = PROBLEMS[code].status
    this.detail = detail
    this.errors = errors
    this.headers = headers
  }
}

const RETRY_AFTER_S = 2

/** Returns the problem `unavailable` with Retry-After. `cause` is logged but not shown. */
export function unavailable(detail: string, cause?: unknown): Problem {
  const problem = new Problem('unavailable', detail, { headers: { 'Retry-After': String(RETRY_AFTER_S) } })
  problem.cause = cause
  return problem
}
