import { CALLBACK_URL_PROBLEMS, type CallbackUrlProblemCode } from '#shared/callback-url-problems.ts'
import type { ProblemCode } from '#shared/problems.ts'

const callbackUrlAdvice = Object.fromEntries(
  Object.entries(CALLBACK_URL_PROBLEMS).map(([code, { sentence }]) => [code, sentence]),
) as Record<CallbackUrlProblemCode, string>

/** What to do about each problem: the text behind its `type` URL. */
export const problemAdvice: Record<ProblemCode, string> = {
  malformed_json: 'The body is empty, not JSON, or not in UTF-8. Nothing was done.',
  invalid_request:
    'The access token was sent in more than one way. Send it once, in the Authorization header.',
  unauthenticated:
    'Send Authorization: Bearer with a token of the right kind. A session ends after 12 hours.',
  invalid_token:
    'The access token has expired, was revoked, or was never good here. Ask the token endpoint for a new one.',
  invalid_credentials: 'Check both. The answer is the same whether or not there is such an account.',
  forbidden:
    'The token or the person does not belong to this company, or the person is neither its owner nor an active admin.',
  insufficient_scope:
    'The client was not given the scope that WWW-Authenticate names. Scopes cannot be added to a client.',
  not_found: 'Check the path: case counts, and so does a slash at the end.',
  invitation_not_valid: 'Ask the owner of the company for a new link: each works once, within 72 hours.',
  method_not_allowed: 'The Allow header names the methods of this path.',
  request_timeout: 'Send the body without long pauses, within ten seconds. Nothing was done.',
  client_limit_reached: 'Revoke clients that are not used any more.',
  idempotency_in_progress: 'Repeat the request, with the same key and body, after Retry-After.',
  already_member: 'Change the role or status of the person instead.',
  owner_required:
    'An owner cannot be suspended, removed or given another role. Hand ownership over first, to an active person.',
  people_limit_reached: 'Remove people who have left, and withdraw invitations that nobody will accept.',
  callback_not_configured: 'Save a callback URL first; only the saved one is tested.',
  test_in_progress: 'Wait for its result: at most ten seconds.',
  precondition_failed: 'Read the resource again, or leave out If-Match. Nothing was done.',
  payload_too_large: 'Send less at once.',
  unsupported_media_type: 'Send Content-Type: application/json, in UTF-8 and without Content-Encoding.',
  invalid_input: 'The list errors says which part broke which rule. Nothing was done.',
  ...callbackUrlAdvice,
  idempotency_key_reused: 'A key stands for one request for 24 hours. Use a new one for another request.',
  rate_limited:
    'Wait as long as Retry-After says, in seconds. RateLimit-Policy names the limit: api-client counts requests, api-events events, and api-forged is the limit of an address from which too many tokens with a wrong signature came.',
  internal: 'The fault is ours and has been logged. Name the requestId when you ask for help.',
  bad_gateway: 'The service is being restarted, or is down. Repeat the request after Retry-After.',
  unavailable:
    'A part of the service does not answer, or it has too much to do right now. Repeat the request after Retry-After.',
  gateway_timeout: 'Whether the request was carried out is not known. Look before you repeat a change.',
}
