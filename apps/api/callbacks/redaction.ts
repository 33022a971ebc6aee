import { isCredentialName, nameWords, SECRET_SHAPES } from '../guarded-fetch/secret-shapes.ts'

/*
 * Hides secrets in text that is about to be shown to the owner of the receiver. A secret is recognised by its
 * appearance. Hiding by name alone would hide why the receiver refused the event, which the owner needs to
 * know. Every step takes linear time, and valid JSON stays valid.
 */

const HIDDEN = '[redacted]'

/** The first part of a truncated secret. It is hidden here, but not refused in a URL. */
const SECRET_STARTS: readonly RegExp[] = [
  /(?<![A-Za-z0-9])(?:ias|ses|inv|pwr)_(?=[a-z]*[0-9A-Z])[0-9A-Za-z]{8,}/g,
  /(?<![A-Za-z0-9])eyJ[\w-]{10,}(?:\.[\w-]*)*/g,
  /gh[opusr]_[A-Za-z0-9]{10,}/g,
  /(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{6,}/g,
]

/** Returns plain text of any number of lines without its secrets. */
export function redact(text: string): string {
  let result = hideHeaderValues(text)
  for (const shape of [...SECRET_SHAPES, ...SECRET_STARTS]) {
    result = result.replace(shape, (secret, at: number) => `${escapeBefore(result, at, secret)}${HIDDEN}`)
  }
  return result.replace(WORD, (word, at: number) => {
    const start = escapeBefore(result, at, word)
    return `${start}${redactWord(word.slice(start.length), nameBefore(result, at))}`
  })
}

/** The rest of a JSON escape such as \n or \u0041 whose backslash directly precedes `word`. */
function escapeBefore(text: string, at: number, word: string): string {
  if (text[at - 1] !== '\\') return ''
  return word.slice(0, /^u[\da-f]{4}/i.test(word) ? 5 : 1)
}

/** The characters of keys and tokens: token68 of RFC 9110 §11.2. */
const WORD = /(?<![\w.~+/-])[\w.~+/-]{16,}={0,2}/g
const NAMED_KEY_CHARACTERS = 16
const UNNAMED_KEY_CHARACTERS = 32

/** Where lower case, upper case and digits alternate: rarely in words, every other character in keys. */
const CHANGE = /(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]/g

/** Paths and URLs are checked segment by segment. */
function redactWord(word: string, name: string): string {
  if (!word.startsWith('/')) return looksLikeKey(word, name) ? HIDDEN : word
  return word
    .split('/')
    .map((segment) => (looksLikeKey(segment, name) ? HIDDEN : segment))
    .join('/')
}

/**
 * Whether a word is long and random. After a credential's name, a shorter and less varied word is enough.
 * After an identifier's name, no word counts.
 */
function looksLikeKey(word: string, name: string): boolean {
  if (word.length < NAMED_KEY_CHARACTERS) return false
  const changes = word.match(CHANGE)?.length ?? 0
  const digits = word.match(/[0-9]/g)?.length ?? 0
  if (isCredentialName(name) || hasCredentialScheme(name)) {
    return changes * 3 >= word.length || (digits >= 2 && changes * 6 >= word.length)
  }
  const mixed = /[a-z]/.test(word) && /[A-Z]/.test(word)
  const random = mixed && digits >= 2 && changes * 4 >= word.length
  return word.length >= UNNAMED_KEY_CHARACTERS && random && !isIdentifierName(name)
}

/** Whether a word announces credentials as an authentication scheme does (RFC 9110 §11.1). */
const hasCredentialScheme = (word: string): boolean => /^(?:basic|bearer|digest|negotiate)$/i.test(word)

/** Whether a value of this name is an identifier, which people need to find a request again. */
const isIdentifierName = (name: string): boolean =>
  ['id', 'ids', 'etag', 'ray', 'trace', 'traceparent'].includes(nameWords(name).at(-1) ?? '')

/** `name: `, `name=`, `"name":"` or `name ` directly before the position where it is applied. */
const NAME = /(?<=([A-Za-z][\w.-]{0,60})\\{0,7}["']?\s{0,8}(?:[:=]›?|\s)\s{0,8}\\{0,7}["']?)/y

function nameBefore(text: string, at: number): string {
  NAME.lastIndex = at
  return NAME.exec(text)?.[1] ?? ''
}

/** Fields whose value is always a credential: Authorization, Cookie, Set-Cookie. */
const HEADER = /(?:authori[sz]ation|cookies?2?)(\\{0,7}["'])?\s{0,8}[:=]›?\s{0,8}/gi
const JSON_NAME_END = /^(?:\\\\)*"$/
const STRING_START = /"(?:[^"\\\n]|\\.)*/y
const STRING_REST = /(?:[^"\\\n]|\\.)*/y
const LINE_REST = /.*/y
const JSON_LITERAL = /(?:null|true|false|-?\d[\d.eE+-]*)(?=[\s,}\]]|$)/y

function hideHeaderValues(text: string): string {
  const quotes = createQuoteReader(text)
  let result = ''
  let from = 0
  for (const header of text.matchAll(HEADER)) {
    if (header.index < from) continue
    const start = header.index + header[0].length
    const quoted = quotes.areOpenAt(start)
    const isMember = !quoted && JSON_NAME_END.test(header[1] ?? '')
    const { replacement, end } = hideValue(text, start, { quoted, isMember })
    result += text.slice(from, start) + replacement
    from = end
  }
  return result + text.slice(from)
}

/**
 * Hides the value that begins at `start`: that of a JSON member, or else the rest of the line or of the JSON
 * string that surrounds it.
 */
function hideValue(
  text: string,
  start: number,
  { quoted, isMember }: { quoted: boolean; isMember: boolean },
): { replacement: string; end: number } {
  const read = (pattern: RegExp): string => {
    pattern.lastIndex = start
    return pattern.exec(text)?.[0] ?? ''
  }
  if (isMember) {
    const string = read(STRING_START)
    if (string) return { replacement: `"${HIDDEN}`, end: start + string.length }
    if (/[[{]/.test(text.charAt(start))) return hideStrings(text, start)
    const literal = read(JSON_LITERAL)
    if (literal) return { replacement: literal, end: start + literal.length }
  }
  const value = read(quoted ? STRING_REST : LINE_REST)
  return { replacement: value && HIDDEN, end: start + value.length }
}

const STRING_OR_BRACKET = /"(?:[^"\\]|\\[\s\S])*"?|[[\]{}]/g

/** Hides every string in the JSON array or object that begins at `start`, except the names of members. */
function hideStrings(text: string, start: number): { replacement: string; end: number } {
  STRING_OR_BRACKET.lastIndex = start
  let replacement = ''
  let from = start
  let depth = 0
  for (let match = STRING_OR_BRACKET.exec(text); match; match = STRING_OR_BRACKET.exec(text)) {
    const [token] = match
    const end = STRING_OR_BRACKET.lastIndex
    const isName = /^\s{0,8}:/.test(text.slice(end, end + 9))
    replacement += text.slice(from, match.index) + (token.startsWith('"') && !isName ? `"${HIDDEN}"` : token)
    from = end
    if (token === '[' || token === '{') depth += 1
    if (token === ']' || token === '}') depth -= 1
    if (depth === 0) return { replacement, end }
  }
  return { replacement: replacement + text.slice(from), end: text.length }
}

/** Reads whether a position is inside double quotes opened on its line. Positions must rise. */
function createQuoteReader(text: string): { areOpenAt(position: number): boolean } {
  let at = 0
  let open = false
  return {
    areOpenAt(position) {
      for (; at < position; at++) {
        if (text[at] === '\\') at += 1
        else if (text[at] === '"') open = !open
        else if (text[at] === '\n') open = false
      }
      return open
    },
  }
}
