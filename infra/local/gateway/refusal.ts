import type { ServerResponse } from 'node:http'
import { PROBLEMS } from '../../../apps/api/problems/problems.ts'

const RETRY_AFTER_S = 2

/** Answers with a refusal by the gateway itself. `detail` is a sentence for the caller. */
export type Refuse = (
  code: 'invalid_request' | 'not_found' | 'method_not_allowed' | 'bad_gateway' | 'gateway_timeout',
  detail: string,
) => void

/**
 * Refuses in the format of the path's service: OAuth JSON (RFC 6749 §5.2), or problem+json (RFC 9457). The
 * request id is the one that `response` already has.
 */
export const createRefuse =
  (response: ServerResponse, { isOAuth, apiResource }: { isOAuth: boolean; apiResource: string }): Refuse =>
  (code, detail) => {
    const { status, title } = PROBLEMS[code]
    const type = `${apiResource}/docs/errors#problem-${code}`
    const requestId = response.getHeader('X-Request-Id')
    const error = status >= 500 ? 'temporarily_unavailable' : 'invalid_request'
    const body = isOAuth
      ? { error, error_description: detail }
      : { type, title, status, detail, code, requestId }
    response.statusCode = status
    response.setHeader('Content-Type', isOAuth ? 'application/json' : 'application/problem+json')
    response.setHeader('Cache-Control', 'no-store')
    if (status >= 500) response.setHeader('Retry-After', RETRY_AFTER_S)
    if (status === 405) response.setHeader('Allow', 'GET, HEAD')
    response.end(JSON.stringify(body))
  }
