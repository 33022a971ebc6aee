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
    'The access token has expired, was revoked, or was never valid here. Ask the token endpoint for a new one.',
  invalid_credentials: 'Check both. The answer is the same whether or not the account exists.',
  forbidden:
    'The token or the person does not belong to this company, or the person is neither its owner nor an active admin.',
  insufficient_scope:
    'The client does not have the scope named in WWW-Authenticate. Scopes cannot be added to a client; create another.',
  not_found: 'Check the path: it is case-sensitive, and a trailing slash matters.',
  invitation_not_valid: 'Ask the owner of the company for a new link. Each link works once, within 72 hours.',
  method_not_allowed: 'The Allow header lists the methods of this path.',
  request_timeout: 'Send the body without long pauses, within ten seconds. Nothing was done.',
  client_limit_reached: 'Revoke clients that are no longer used.',
  idempotency_in_progress:
    'Wait as long as Retry-After says, then repeat the request with the same key and body.',
  already_member: 'Change the role or status of the person instead.',
  owner_required:
    'An owner cannot be suspended, removed or given another role. Transfer ownership to an active person first.',
  people_limit_reached: 'Remove people who have left, or withdraw invitations that nobody will accept.',
  callback_not_configured: 'Save a callback URL first; only the saved one is tested.',
  test_in_progress: 'Wait for its result; it takes at most ten seconds.',
  precondition_failed: 'Read the resource again, or leave out If-Match. Nothing was done.',
  payload_too_large: 'Send less in one request.',
  unsupported_media_type: 'Send Content-Type: application/json, in UTF-8 and without Content-Encoding.',
  invalid_input: 'Each entry of errors names a part of the input and the rule it breaks. Nothing was done.',
  ...callbackUrlAdvice,
  idempotency_key_reused: 'A key identifies one request for 24 hours. Use a new key for another request.',
  rate_limited:
    'Wait as long as Retry-After says, in seconds. RateLimit-Policy names the limit: api-client counts requests, api-events counts events, and api-forged limits addresses that sent too many tokens with a wrong signature.',
  internal: 'The fault is ours and has been logged. Quote the requestId when you ask for help.',
  bad_gateway:
    'The service is restarting or down. Wait as long as Retry-After says, then repeat the request.',
  unavailable:
    'A part of the service does not answer or is overloaded. Wait as long as Retry-After says, then repeat the request.',
  gateway_timeout: 'The request may or may not have been carried out. Check before you repeat a change.',
}
