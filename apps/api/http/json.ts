import { Problem } from '../problems/problems.ts'
import { invalidMember } from './input.ts'

/** Deeper than any body of this API, and shallow enough for recursive code. */
const DEPTH_MAX = 32
/**
 * Twice what a thousand events hold. JSON.parse takes tens of milliseconds for a mebibyte of tiny
 * objects, so they are counted before it runs.
 */
export const VALUES_MAX = 16_000

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses JSON text in UTF-8 (RFC 8259 §8.1).
 * @throws Problem 400 if it is not JSON or not UTF-8, 422 if it is nested too deep or holds too many values.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw malformed('The body is empty.')
  checkSize(bytes)
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (error) {
    throw malformed(`The body is not valid ${error instanceof SyntaxError ? 'JSON' : 'UTF-8'}.`)
  }
}

const malformed = (detail: string): Problem => new Problem('malformed_json', detail)

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Looks at each byte once. An empty array or object counts as two values.
 * @throws Problem 422 if the JSON text is nested too deep or holds too many values.
 */
function checkSize(bytes: Buffer): void {
  let depth = 0
  let values = 1
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++
        break
      case 0x2c: // ,
        values++
        break
      case 0x5b: // [
      case 0x7b: // {
        values++
        depth++
        if (depth > DEPTH_MAX) throw invalidMember('', `must not be nested deeper than ${DEPTH_MAX} levels`)
        break
      case 0x5d: // ]
      case 0x7d: // }
        depth--
    }
  }
  if (values > VALUES_MAX) throw invalidMember('', `must not hold more than ${VALUES_MAX} values`)
}
