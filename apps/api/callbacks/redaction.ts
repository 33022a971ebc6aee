import { decodings } from './decodings.ts'
import { isCredentialName, SECRET_BEGINNINGS, SECRET_SHAPES } from './secret-shapes.ts'

/*
 * Hides secrets in text that is about to be shown. What is in plain sight is replaced in its place; what is encoded
 * is found by decoding, and the word that holds it is replaced; a secret that is scattered over more than one word
 * makes the whole text be withheld.
 */

const HIDDEN = '[redacted]'
export const WITHHELD = '[withheld: it holds what looks like a secret]'
const PIECE_CHARACTERS = 12
const NAMED_DEPTH = 8

const SHAPES = [...SECRET_SHAPES, ...SECRET_BEGINNINGS]
const PLAIN_SHAPES = SHAPES.map((shape) => new RegExp(shape.source, `${shape.flags}g`))
/** A key of an unknown make: long, and a mixture that neither words nor ids in hexadecimal have. */
const RANDOM_KEY =
  /(?<![\w+/-])(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])(?=[\w+/-]*\d[\w+/-]*[A-Za-z][\w+/-]*\d)[\w+/-]{32,}={0,2}/g
/** `Authorization: …` and `Cookie: …` in whatever notation, to the end of the quotes or of the line. */
const HEADER_VALUE =
  /([\w-]{0,40}(?:authori[sz]ation|cookie)[\w-]{0,40}\\{0,3}["']?\s{0,8}[:=]\s{0,8})(\\{0,3}"(?:[^"\\]|\\.)*"?|'[^'\n]*'?|[^\n]+)/gi
/** `name: value`, `name=value`, `"name":"value"`. */
const NAMED_VALUE =
  /(?<![\w.-])([A-Za-z][\w.-]{0,60})(\\{0,3}["']?\s{0,8}[:=]\s{0,8})(\\{0,3}"(?:[^"\\]|\\.)*"?|'[^'\n]*'?|[^\s,;&{}[\]"']+)/g
const WORD = /[^\s"'{}[\],<>]{8,}/g

export interface RedactionOptions {
  /** Secrets of this very request, such as the caller's session token: found whole or in pieces. */
  secrets?: readonly string[]
}

/** Text of more than one line, without the secrets that `shape`, name or `secrets` tell. */
export function redact(text: string, { secrets = [] }: RedactionOptions = {}): string {
  const pieces = new Set(secrets.flatMap(piecesOf))
  const leaks = (candidate: string) =>
    SHAPES.some((shape) => shape.test(candidate)) || holdsPiece(candidate, pieces)
  const result = redactPlain(text, pieces)
  if (!decodings(result, leaks)) return result
  const wordwise = result.replace(WORD, (word) => (decodings(word, leaks) ? HIDDEN : word))
  return decodings(wordwise, leaks) ? WITHHELD : wordwise
}

function redactPlain(text: string, pieces: ReadonlySet<string>): string {
  let result = text.replace(HEADER_VALUE, `$1${HIDDEN}`)
  result = redactNamed(result)
  for (const shape of PLAIN_SHAPES) result = result.replace(shape, HIDDEN)
  if (pieces.size > 0) {
    result = result.replace(WORD, (word) => (holdsPiece(word, pieces) ? HIDDEN : word))
  }
  return result.replace(RANDOM_KEY, HIDDEN)
}

/** A value may hold names and values of its own, as the query of a URL does. */
function redactNamed(text: string, depth = 0): string {
  if (depth > NAMED_DEPTH) return HIDDEN
  return text.replace(NAMED_VALUE, (_all, name: string, between: string, value: string) =>
    isCredentialName(name)
      ? `${name}${between}${HIDDEN}`
      : `${name}${between}${redactNamed(value, depth + 1)}`,
  )
}

/** Every run of twelve characters of a secret: fewer tell nothing. */
function piecesOf(secret: string): string[] {
  if (secret.length <= PIECE_CHARACTERS) return secret.length < 6 ? [] : [secret]
  return Array.from({ length: secret.length - PIECE_CHARACTERS + 1 }, (_, start) =>
    secret.slice(start, start + PIECE_CHARACTERS),
  )
}

function holdsPiece(text: string, pieces: ReadonlySet<string>): boolean {
  for (const piece of pieces) if (text.includes(piece)) return true
  return false
}
