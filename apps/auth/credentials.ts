import type { IncomingMessage } from 'node:http'
import { decodeJwt } from 'jose'
import { type Form, formDecode } from './form.ts'
import { invalidClient, invalidRequest, type Refusal } from './refusal.ts'

/** Who a request claims to be from. None of it is verified. */
export interface PresentedCredentials {
  clientId: string
  /** Empty when none was sent. */
  secret: string
  /** A JWT in place of a secret (RFC 7523 §2.2); empty when what was sent cannot be one. */
  assertion?: string
}

export const CREDENTIAL_FIELDS = ['client_id', 'client_secret', 'client_assertion_type', 'client_assertion']
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i
const TWO_WAYS = invalidRequest('two_ways', 'the client must authenticate in one way only')
const MALFORMED = invalidRequest('malformed_basic', 'the Authorization header is not well-formed HTTP Basic')
const MISMATCH = invalidRequest(
  'client_id_mismatch',
  'client_id differs from the one in the Authorization header',
)

/** Client authentication by HTTP Basic, in the body (RFC 6749 §2.3.1), or by an assertion: by one of them. */
export function readCredentials(request: IncomingMessage, form: Form): PresentedCredentials | Refusal {
  const { authorization } = request.headers
  const clientId = form.get('client_id')
  const secret = form.get('client_secret')
  // Node silently keeps the first of several Authorization headers.
  const headers = request.headersDistinct.authorization?.length ?? 0
  const assertion = readAssertion(form)
  if (headers + [secret, assertion].filter((sent) => sent !== undefined).length > 1) return TWO_WAYS
  if (assertion !== undefined) return { clientId: clientId ?? subjectOf(assertion), secret: '', assertion }
  if (authorization && /^basic(?: |$)/i.test(authorization)) return readBasic(authorization, clientId)
  // This server knows no other scheme. Some clients send nothing until they are challenged (RFC 6749 §5.2).
  return clientId === undefined ? invalidClient('no_authentication') : { clientId, secret: secret ?? '' }
}

/** RFC 7521 §4.2. */
function readAssertion(form: Form): string | undefined {
  const [type, assertion] = [form.get('client_assertion_type'), form.get('client_assertion')]
  if (type === undefined && assertion === undefined) return undefined
  return (type === JWT_BEARER && assertion) || ''
}

/** The client that an assertion claims to come from: its key decides whether that is true. */
function subjectOf(assertion: string): string {
  try {
    const { sub } = decodeJwt<{ sub: unknown }>(assertion)
    return typeof sub === 'string' ? sub : ''
  } catch {
    return ''
  }
}

function readBasic(authorization: string, bodyClientId: string | undefined): PresentedCredentials | Refusal {
  const [, encoded] = BASIC.exec(authorization) ?? []
  const pair = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString()
  const colon = pair.indexOf(':')
  if (colon < 0) return MALFORMED
  // Both parts are form-encoded before they are joined (RFC 6749 §2.3.1).
  const clientId = formDecode(pair.slice(0, colon))
  const secret = formDecode(pair.slice(colon + 1))
  if (!clientId || secret === undefined) return MALFORMED
  if (bodyClientId !== undefined && bodyClientId !== clientId) return MISMATCH
  return { clientId, secret }
}
