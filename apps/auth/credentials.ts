import type { IncomingMessage } from 'node:http'
import { type Form, formDecode } from './form.ts'
import { INVALID_CLIENT, invalidRequest, type Refusal } from './refusal.ts'

/** Who a request claims to be from. None of it is verified. */
export interface PresentedCredentials {
  clientId: string
  /** Empty when none was sent. */
  secret: string
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i
const TWO_WAYS = invalidRequest('two_ways', 'the client must authenticate in one way only')
const MALFORMED = invalidRequest('malformed_basic', 'the Authorization header is not well-formed HTTP Basic')
const NO_CLIENT_ID = invalidRequest('field_missing', 'client_id is missing')
const MISMATCH = invalidRequest(
  'client_id_mismatch',
  'client_id differs from the one in the Authorization header',
)

/** Client authentication by HTTP Basic or in the body (RFC 6749 §2.3.1), never both. */
export function readCredentials(request: IncomingMessage, form: Form): PresentedCredentials | Refusal {
  const { authorization } = request.headers
  const clientId = form.get('client_id')
  const secret = form.get('client_secret')
  if (authorization === undefined) {
    // RFC 6749 §5.2: clients that authenticate only when challenged send nothing at first.
    if (clientId === undefined) return INVALID_CLIENT.none
    return { clientId, secret: secret ?? '' }
  }
  // Node silently keeps the first of several Authorization headers.
  if (secret !== undefined || (request.headersDistinct.authorization?.length ?? 0) > 1) return TWO_WAYS
  return readBasic(authorization, clientId)
}

function readBasic(authorization: string, bodyClientId: string | undefined): PresentedCredentials | Refusal {
  if (!/^basic(?: |$)/i.test(authorization)) {
    // This server knows no other scheme, so it counts as no secret.
    return bodyClientId === undefined ? NO_CLIENT_ID : { clientId: bodyClientId, secret: '' }
  }
  const [, encoded] = BASIC.exec(authorization) ?? []
  const pair = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString()
  const colon = pair.indexOf(':')
  if (colon < 0) return MALFORMED
  // Both parts are form-encoded before they are joined (RFC 6749 §2.3.1).
  const clientId = formDecode(pair.slice(0, colon))
  const secret = formDecode(pair.slice(colon + 1))
  if (clientId === undefined || secret === undefined) return MALFORMED
  if (clientId === '') return NO_CLIENT_ID
  if (bodyClientId !== undefined && bodyClientId !== clientId) return MISMATCH
  return { clientId, secret }
}
