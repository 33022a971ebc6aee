import type { ServerResponse } from 'node:http'
import { PROBLEMS, type ProblemCode } from '#shared/problems/problems.ts'
import { isOAuth, pathOf } from './route.ts'

const RETRY_AFTER_S = 2

/** A refusal by the gateway itself. */
export interface Refusal {
  code: Extract<
    ProblemCode,
    'bad_gateway' | 'gateway_timeout' | 'invalid_request' | 'method_not_allowed' | 'not_found'
  >
  detail: string
  headers?: Record<string, string>
}

/** Answers in the format of the path's service: OAuth JSON, or problem+json (RFC 9457). */
export function refuse(
  response: ServerResponse,
  { code, detail, headers = {} }: Refusal,
  { target, requestId, apiResource }: { target: string; requestId: string; apiResource: string },
): void {
  const { status, title } = PROBLEMS[code]
  const oauth = isOAuth(pathOf(target))
  const body = oauth
    ? { error: status >= 500 ? 'temporarily_unavailable' : 'invalid_request', error_description: detail }
    : { type: `${apiResource}/docs/errors#problem-${code}`, title, status, detail, code, requestId }
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'Content-Type': oauth ? 'application/json' : 'application/problem+json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Request-Id': requestId,
    ...(status >= 500 ? { 'Retry-After': String(RETRY_AFTER_S) } : {}),
    ...headers,
  })
  response.end(text)
}
