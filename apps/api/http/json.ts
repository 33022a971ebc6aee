import { Problem } from '../problems/problems.ts'
import { invalidMember } from './input.ts'

/** Deeper than any body of this API, and shallow enough for recursive code. */
const DEPTH_MAX = 32

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses JSON text in UTF-8 (RFC 8259 §8.1).
 * @throws Problem 400 if it is not JSON or not UTF-8, 422 if it is nested too deep.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw malformed('The body is empty.')
  const text = decoded(bytes)
  try {
    // Does not recurse.
    const value = JSON.parse(text)
    if (!isTooDeep(bytes)) return value
  } catch (error) {
    throw error instanceof SyntaxError ? malformed('The body is not valid JSON.') : error
  }
  throw invalidMember('', `must not be nested deeper than ${DEPTH_MAX} levels`)
}

function decoded(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw malformed('The body is not valid UTF-8.')
  }
}

const malformed = (detail: string): Problem => new Problem('malformed_json', detail)

const [QUOTE, BACKSLASH] = Buffer.from('"\\')
const [OPEN_ARRAY, OPEN_OBJECT, CLOSE_ARRAY, CLOSE_OBJECT] = Buffer.from('[{]}')

/** Looks at each byte once. Its result for invalid JSON does not matter, since that is refused anyway. */
function isTooDeep(bytes: Buffer): boolean {
  let depth = 0
  let isInString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isInString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isInString = false
    } else if (byte === QUOTE) isInString = true
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      if (++depth > DEPTH_MAX) return true
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--
  }
  return false
}
