import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Audit } from './audit.ts'
import type { Authenticate } from './authenticate.ts'
import { type PresentedCredentials, readCredentials } from './credentials.ts'
import { type Form, readForm } from './form.ts'
import { invalidRequest, type OAuthExchange, OAuthRefusal } from './http.ts'

export interface ClientEndpoint {
  authenticate: Authenticate
  limit: RateLimit
  audit: Audit
}

/**
 * Reads a form-encoded request and the `value` of its required field. Ignores fields not in `names`.
 * @throws ClientGone when the sender has disconnected.
 */
export async function readClientRequest(
  exchange: OAuthExchange,
  names: ReadonlySet<string>,
  required: string,
): Promise<{ form: Form; credentials: PresentedCredentials; value: string } | OAuthRefusal> {
  const queryRefusal = credentialsInQuery(exchange.query, names)
  if (queryRefusal) return queryRefusal
  const form = await readForm(exchange.request, names)
  if (form instanceof OAuthRefusal) return form
  const credentials = readCredentials(exchange.request, form)
  const isRefused = credentials instanceof OAuthRefusal
  exchange.clientId = isRefused ? form.get('client_id') : credentials.clientId
  if (isRefused) return credentials
  const value = form.get(required)
  return value === undefined
    ? invalidRequest('field_missing', `${required} is missing`)
    : { form, credentials, value }
}

/** RFC 6749 §2.3.1: credentials must not be in the request URI, because proxies log it. */
export function credentialsInQuery(query: string, names: ReadonlySet<string>): OAuthRefusal | undefined {
  const name = [...new URLSearchParams(query).keys()].find((key) => names.has(key))
  return name === undefined ? undefined : invalidRequest('field_in_query', `${name} must be sent in the body`)
}
