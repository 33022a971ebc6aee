import { CALLBACK_URL_PROBLEMS, type CallbackUrlProblemCode } from '#shared/problems/callback-url-problems.ts'
import type { ProblemCode } from '#shared/problems/problems.ts'

export interface Advice {
  cause: string
  cure: string
}

const callbackUrlAdvice = Object.fromEntries(
  Object.entries(CALLBACK_URL_PROBLEMS).map(([code, { title, sentence }]) => [
    code,
    { cause: `${title}. The saved URL stays as it was.`, cure: sentence },
  ]),
) as Record<CallbackUrlProblemCode, Advice>

/** What causes each problem and what to do about it: the text behind its `type` URL. */
export const problemAdvice: Record<ProblemCode, Advice> = {
  malformed_json: {
    cause: 'The body is empty, not JSON, or not in UTF-8. Nothing was done.',
    cure: 'Send the body as JSON.',
  },
  invalid_request: {
    cause: 'The access token was sent more than once or in more than one way.',
    cure: 'Send it once, in the Authorization header.',
  },
  unauthenticated: {
    cause: 'The request has no token, or a token of the wrong type. A session ends after 12 hours.',
    cure: 'Send `Authorization: Bearer` with an access token; for the routes of the workspace, with a session token.',
  },
  invalid_token: {
    cause:
      'The access token has expired, was revoked, or was never valid here. `error_description` in `WWW-Authenticate` says which.',
    cure: 'Ask the token endpoint for a new one. If that one is refused too, check the base URL.',
  },
  invalid_credentials: {
    cause:
      'The email address or the password is wrong. The answer is the same whether or not the account exists.',
    cure: 'Check both.',
  },
  forbidden: {
    cause:
      'The token or the person does not belong to this company, or the person is neither its owner nor an active admin.',
    cure: 'Put the id of your own company in the path. If you are signed in, ask the owner to make you an admin.',
  },
  recent_sign_in_required: {
    cause: 'Handing a company over needs a sign-in of the last 15 minutes. Nothing was done.',
    cure: 'Sign in again, with the OpenID provider if that is how you sign in, and repeat the request in the new session.',
  },
  insufficient_scope: {
    cause: 'The access token lacks the scope that `scope` in `WWW-Authenticate` names.',
    cure: 'Name the scope in the token request. If the client does not have it, create another client: scopes cannot be added.',
  },
  not_found: {
    cause: 'No such path, or you may not see what is there.',
    cure: 'Check the path: it is case-sensitive, and a trailing slash matters.',
  },
  invitation_not_valid: {
    cause: 'The link was used, withdrawn, or is older than 72 hours.',
    cure: 'Ask the owner of the company for a new link.',
  },
  method_not_allowed: {
    cause: 'The path exists, but not for this method.',
    cure: 'Use a method that the `Allow` header lists.',
  },
  request_timeout: {
    cause: 'The body took longer than ten seconds to arrive. Nothing was done.',
    cure: 'Send it without long pauses.',
  },
  client_limit_reached: {
    cause: 'The company has 100 active clients.',
    cure: 'Revoke clients that are no longer used.',
  },
  idempotency_in_progress: {
    cause: 'The first request with this Idempotency-Key is still running.',
    cure: 'Wait as long as `Retry-After` says, then repeat the request with the same key and body.',
  },
  already_member: {
    cause: 'The person already belongs to the company.',
    cure: 'Change the role or status of the person instead.',
  },
  owner_required: {
    cause: 'An owner cannot be suspended, removed or given another role.',
    cure: 'Transfer ownership to an active person first.',
  },
  people_limit_reached: {
    cause: 'The company has reached its limit of people.',
    cure: 'Remove people who have left, or withdraw invitations that no one will accept.',
  },
  callback_not_configured: {
    cause: 'No callback URL is saved, so there is nothing to test.',
    cure: 'Save a callback URL first; only the saved one is tested.',
  },
  test_in_progress: {
    cause: 'A test event is already being sent.',
    cure: 'Wait for its result; it takes at most ten seconds.',
  },
  precondition_failed: {
    cause: '`If-Match` does not match the current ETag. Nothing was changed.',
    cure: 'Read the resource again, or leave out If-Match.',
  },
  payload_too_large: {
    cause: 'The body is larger than 1 MiB for events, or 64 KiB for anything else.',
    cure: 'Send less in one request.',
  },
  unsupported_media_type: {
    cause: 'The body is not declared as plain JSON.',
    cure: 'Send `Content-Type: application/json`, in UTF-8 and without Content-Encoding.',
  },
  invalid_input: {
    cause: 'The input is invalid. Nothing was changed.',
    cure: 'Each entry of `errors` names a field and what is wrong with it.',
  },
  ...callbackUrlAdvice,
  idempotency_key_reused: {
    cause: 'This Idempotency-Key was already used with a different body in the last 24 hours.',
    cure: 'Use a new key for another request.',
  },
  rate_limited: {
    cause:
      'You exceeded a rate limit. `RateLimit-Policy` names it: `api-client` counts requests, `api-events` counts events.',
    cure: 'Wait as many seconds as `Retry-After` says.',
  },
  internal: {
    cause: 'Internal error. It has been logged.',
    cure: 'Try again. If it persists, ask for help and quote the `requestId`.',
  },
  bad_gateway: {
    cause: 'The service is restarting or down.',
    cure: 'Wait as long as `Retry-After` says, then repeat the request.',
  },
  unavailable: {
    cause: 'A dependency of the service is down or overloaded.',
    cure: 'Wait as long as `Retry-After` says, then repeat the request.',
  },
  gateway_timeout: {
    cause: 'The service took too long. The request may or may not have been carried out.',
    cure: 'Check before you repeat a change. Resending events is safe.',
  },
}
