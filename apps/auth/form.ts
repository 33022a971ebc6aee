import type { IncomingMessage } from 'node:http'
import { invalidRequest, OAuthRefusal } from './http.ts'

const BODY_MAX_BYTES = 8 * 1_024
/** A longer body, up to this size, is read and discarded, so that its sender can read the answer. */
const DISCARD_MAX_BYTES = 1_024 * 1_024
const FORM = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i

/** The sender disconnected before its request was complete, so no answer is written. */
export class ClientGone extends Error {}

/** The fields of a request by name. No value is empty. Several of `resource` are separated by spaces. */
export type Form = ReadonlyMap<string, string>

const tooLarge = (headers?: Record<string, string>): OAuthRefusal =>
  invalidRequest('body_too_large', 'the body is larger than 8 KiB', headers)
const CUT_OFF = tooLarge({ Connection: 'close' })
const NOT_A_FORM = invalidRequest('not_a_form', 'send application/x-www-form-urlencoded, no Content-Encoding')
const MALFORMED = invalidRequest(
  'malformed_form',
  'the body is not well-formed application/x-www-form-urlencoded',
)

/**
 * Reads the fields in `names` from a form-encoded body of at most 8 KiB. Others are ignored (RFC 6749 §3.2).
 * @throws ClientGone when the sender has disconnected.
 */
export async function readForm(
  request: IncomingMessage,
  names: ReadonlySet<string>,
): Promise<Form | OAuthRefusal> {
  const { 'content-type': type = '', 'content-encoding': encoding = '' } = request.headers
  if (!FORM.test(type) || !/^(?:identity)?$/i.test(encoding)) return NOT_A_FORM
  const body = await readBody(request)
  return body instanceof OAuthRefusal ? body : parseForm(body, names)
}

function readBody(request: IncomingMessage): Promise<string | OAuthRefusal> {
  if (Number(request.headers['content-length'] ?? 0) > DISCARD_MAX_BYTES) return Promise.resolve(CUT_OFF)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let received = 0
    request.on('data', (chunk: Buffer) => {
      received += chunk.length
      if (received <= BODY_MAX_BYTES) chunks.push(chunk)
      else chunks.length = 0
      if (received > DISCARD_MAX_BYTES) resolve(CUT_OFF)
    })
    request.on('end', () => {
      if (received > BODY_MAX_BYTES) resolve(tooLarge())
      else resolve((chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString())
    })
    const abort = () => request.complete || reject(new ClientGone('the sender disconnected'))
    request.on('error', abort)
    request.on('close', abort)
  })
}

/** Returns a refusal if an encoding is malformed, or a field but `resource` (RFC 8707 §2) was sent twice. */
export function parseForm(body: string, names: ReadonlySet<string>): Form | OAuthRefusal {
  const form = new Map<string, string>()
  for (const pair of body.split('&')) {
    const equals = pair.indexOf('=')
    const name = formDecode(equals < 0 ? pair : pair.slice(0, equals))
    if (name === undefined) return MALFORMED
    if (!names.has(name)) continue
    const value = formDecode(equals < 0 ? '' : pair.slice(equals + 1))
    if (value === undefined) return MALFORMED
    if (form.has(name) && name !== 'resource') return invalidRequest('field_twice', `${name} was sent twice`)
    form.set(name, [form.get(name), value].filter(Boolean).join(' '))
  }
  // A parameter without a value counts as omitted (RFC 6749 §3.2).
  for (const [name, value] of form) if (!value) form.delete(name)
  return form
}

/** Returns undefined when a percent-encoding is malformed, or the bytes are not UTF-8. */
export function formDecode(text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
