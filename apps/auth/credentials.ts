import type { IncomingMessage } from 'node:http'
import { type Assertion, decodeAssertion } from './assertion.ts'
import { type Form, formDecode } from './form.ts'
import { invalidClient, invalidRequest, type OAuthRefusal } from './http.ts'

/** Who a request claims to be from. None of it is verified. */
export interface PresentedCredentials {
  clientId: string
  /** Empty when none was sent. */
  secret: string
  assertion?: Assertion
}

export const CREDENTIAL_FIELDS = ['client_id', 'client_secret', 'client_assertion_type', 'client_assertion']

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i
const MALFORMED = invalidRequest('malformed_basic', 'the Authorization header is not well-formed HTTP Basic')

/** Reads HTTP Basic, client_secret in the body (RFC 6749 §2.3.1), or an assertion. Only one may be sent. */
export function readCredentials(request: IncomingMessage, form: Form): PresentedCredentials | OAuthRefusal {
  const { authorization } = request.headers
  const clientId = form.get('client_id')
  const secret = form.get('client_secret')
  // Node silently keeps the first of several Authorization headers.
  const headers = request.headersDistinct.authorization?.length ?? 0
  const type = form.get('client_assertion_type')
  const jwt = form.get('client_assertion')
  const hasAssertion = type !== undefined || jwt !== undefined
  const ways = [
    headers > 1 ? 'several Authorization headers' : headers === 1 && 'an Authorization header',
    secret !== undefined && 'client_secret',
    hasAssertion && 'client_assertion',
  ].filter(Boolean)
  if (headers > 1 || ways.length > 1)
    return invalidRequest('two_ways', `authenticate the client in one way only, not by ${ways.join(' and ')}`)
  if (hasAssertion) {
    const assertion = decodeAssertion(type, jwt)
    const { sub } = assertion.claims
    return { clientId: clientId ?? (typeof sub === 'string' ? sub : ''), secret: '', assertion }
  }
  if (authorization && /^basic(?: |$)/i.test(authorization)) return readBasic(authorization, clientId)
  // This server knows no other scheme. Some clients send nothing until they are challenged (RFC 6749 §5.2).
  return clientId === undefined ? invalidClient('no_authentication') : { clientId, secret: secret ?? '' }
}

function readBasic(authorization: string, bodyClientId?: string): PresentedCredentials | OAuthRefusal {
  const [, encoded] = BASIC.exec(authorization) ?? []
  const pair = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString()
  const colon = pair.indexOf(':')
  if (colon < 0) return MALFORMED
  // Both parts are form-encoded before they are joined (RFC 6749 §2.3.1).
  const clientId = formDecode(pair.slice(0, colon))
  const secret = formDecode(pair.slice(colon + 1))
  if (!clientId || secret === undefined) return MALFORMED
  if (bodyClientId === undefined || bodyClientId === clientId) return { clientId, secret }
  return invalidRequest('client_id_mismatch', 'client_id differs from the one in the Authorization header')
}
