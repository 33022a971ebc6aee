import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Audit } from './audit.ts'
import type { Authenticate } from './authenticate.ts'
import { type PresentedCredentials, readCredentials } from './credentials.ts'
import { type Form, readForm } from './form.ts'
import { invalidRequest, Refusal } from './refusal.ts'
import type { Exchange } from './route.ts'

export interface ClientEndpoint {
  authenticate: Authenticate
  limit: RateLimit
  audit: Audit
}

/**
 * Reads a form-encoded request and `value`, that of its required field. Fields that are not in `names` are ignored.
 * @throws ClientGone when the sender has gone.
 */
export async function readClientRequest(
  exchange: Exchange,
  names: ReadonlySet<string>,
  required: string,
): Promise<{ form: Form; credentials: PresentedCredentials; value: string } | Refusal> {
  const inQuery = credentialsInQuery(exchange.query, names)
  if (inQuery) return inQuery
  const form = await readForm(exchange.request, names)
  if (form instanceof Refusal) return form
  const credentials = readCredentials(exchange.request, form)
  const refused = credentials instanceof Refusal
  exchange.clientId = refused ? form.get('client_id') : credentials.clientId
  if (refused) return credentials
  const value = form.get(required)
  return value === undefined
    ? invalidRequest('field_missing', `${required} is missing`)
    : { form, credentials, value }
}

/** RFC 6749 §2.3.1: credentials are never in the request URI, which every log on the way keeps. */
export function credentialsInQuery(query: string, names: ReadonlySet<string>): Refusal | undefined {
  if (query === '') return undefined
  for (const name of new URLSearchParams(query).keys()) {
    if (names.has(name)) return invalidRequest('field_in_query', `${name} must be sent in the body`)
  }
  return undefined
}
