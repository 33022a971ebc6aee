import { CALLBACK_URL_PROBLEMS } from '../../problems/callback-url-problems.ts'
import { markdownTable } from './markdown.ts'

interface Explanation {
  statuses: readonly number[]
  /** Why it is answered, in Markdown. */
  cause: string
  /** What the caller can do about it, in Markdown. */
  fix: string
}

/** Every `error` of the authorization server. Its tests compare each answer with this list. */
export const OAUTH_ERRORS: Record<string, Explanation> = {
  invalid_request: {
    statuses: [400, 408, 431],
    cause:
      '400: the request is not a form, is compressed, lacks a field, repeats one, is larger than 8 KiB, ' +
      'or carries credentials in the query or in two ways. `error_description` says which. 408: it took ' +
      'too long to arrive. 431: its header is larger than 8 KiB.',
    fix:
      'Send each field once, form-encoded in the body, and the secret either in the body or by HTTP ' +
      'Basic. Send no secret beside an assertion.',
  },
  invalid_client: {
    statuses: [401],
    cause:
      'The id, the secret, the assertion or the [platform’s token](workload-identity.md) is wrong or ' +
      'missing, or the client was revoked or has expired. The answer is the same for all of them, so ' +
      'that no one can probe for ids.',
    fix:
      'Compare the end of your secret with the hint on the client’s page in the workspace, check that ' +
      'nothing stands before or after it, such as a line break or quotes, and ' +
      'that the client is Active and has not expired. A lost secret cannot be shown again: rotate it. ' +
      'If the client has a key, the workspace says what is wrong with an assertion. If it trusts a ' +
      'platform, the workspace names the claim that differed.',
  },
  invalid_scope: {
    statuses: [400],
    cause: '`scope` is missing, names a scope that the client does not have, or repeats one.',
    fix:
      'Send one or more of the client’s scopes, separated by single spaces. A client’s scopes never ' +
      'change: for others, [replace the client](rotation.md).',
  },
  unsupported_grant_type: {
    statuses: [400],
    cause: '`grant_type` is not `client_credentials`.',
    fix: 'Send `grant_type=client_credentials`. There is no other grant, and there are no refresh tokens.',
  },
  invalid_target: {
    statuses: [400],
    cause: '`resource` names a different API.',
    fix: 'Leave `resource` out, or send the base URL of this API.',
  },
  temporarily_unavailable: {
    statuses: [429, 502, 503, 504],
    cause:
      '429: too many requests by this client, its company or service, too many failed authentications ' +
      'from this address, or too many revoked tokens. Any other status: the service is temporarily unavailable.',
    fix:
      'Wait as many seconds as `Retry-After` says. If it is 429, reuse each token until it expires, ' +
      'and let it expire, or revoke the client, if it cannot be revoked.',
  },
  server_error: {
    statuses: [500],
    cause: 'Internal error. It has been logged.',
    fix: 'Try again. If it persists, ask for help and quote `X-Request-Id`.',
  },
  not_found: {
    statuses: [404],
    cause: 'No such path.',
    fix: 'Check the path: it is case-sensitive, and a trailing slash matters.',
  },
  method_not_allowed: {
    statuses: [405],
    cause: 'The path exists, but not for this method. Request tokens with POST.',
    fix: 'Use a method that the `Allow` header lists.',
  },
  precondition_failed: {
    statuses: [412],
    cause: '`If-Match` does not match the document’s ETag.',
    fix: 'Leave `If-Match` out. To learn whether a document changed, send `If-None-Match`.',
  },
}

const explain = (id: string, code: string, { statuses, cause, fix }: Explanation): string =>
  `### \`${code}\` ${statuses.join(', ')} {#${id}}\n\n${cause}\n\n**What to do:** ${fix}`

/** Explains every error of the authorization server, in Markdown. */
export const oauthErrorList = (): string =>
  Object.entries(OAUTH_ERRORS)
    .map(([error, explanation]) => explain(`oauth-${error}`, error, explanation))
    .join('\n\n')

/** Explains why a callback URL is refused, in the words that the workspace shows too. */
export const callbackUrlProblemList = (): string =>
  Object.entries(CALLBACK_URL_PROBLEMS)
    .map(([code, fix]) => {
      const cause = 'The callback URL is not allowed. The saved URL stays as it was.'
      return explain(`problem-${code}`, code, { statuses: [422], cause, fix })
    })
    .join('\n\n')

/** The token endpoint answers with none of them: they are about other paths, methods and documents. */
const STATUSES_ELSEWHERE = [404, 405, 412]

/** Lists the errors of the token endpoint in brief, in Markdown. */
export const oauthErrorTable = (): string =>
  markdownTable(
    ['Status', 'error', 'Why'],
    Object.entries(OAUTH_ERRORS)
      .filter(([, { statuses }]) => !statuses.some((status) => STATUSES_ELSEWHERE.includes(status)))
      .map(([error, { statuses, cause }]) => [
        statuses.join(', '),
        `[\`${error}\`](errors.md#oauth-${error})`,
        cause,
      ]),
  )
