/*
 * What a text may turn into for a reader who decodes it. Used to look for hidden secrets only; nothing that comes
 * out of here is shown.
 */

const DEPTH = 3
/** Reading costs time: a text with more decodings than this is taken for one that hides something. */
const BUDGET_CHARACTERS = 1_000_000
const PRINTABLE_RUN = /[ -~]{8,}/g
const NAMED_ENTITIES: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  lowbar: '_',
  period: '.',
  colon: ':',
  hyphen: '-',
  equals: '=',
  nbsp: ' ',
  Tab: '\t',
  NewLine: '\n',
}

type Decoder = (text: string) => string

/** One after the other and each after any other, three deep. */
const DECODERS: readonly Decoder[] = [
  percent,
  entities,
  backslashes,
  quotedPrintable,
  base64,
  base64Lines,
  hexadecimal,
  codeNumbers,
  (text) => text.normalize('NFKC'),
  // Without what can be put between the characters of a secret to break it up
  (text) => text.replace(/\s/g, ''),
  (text) => text.replace(/[\s"'`+,|\0*‹›]/g, ''),
  (text) => text.replaceAll('.', ''),
  (text) => text.replace(/\W/g, ''),
  (text) => [...text].reverse().join(''),
]

/** @returns whether `found` holds for the text or for anything that it decodes to, or it decodes to too much. */
export function decodings(text: string, found: (candidate: string) => boolean): boolean {
  const seen = new Set([text])
  let spent = 0
  let level = [text]
  for (let depth = 0; depth <= DEPTH; depth++) {
    const next: string[] = []
    for (const candidate of level) {
      if (found(candidate)) return true
      if (depth === DEPTH) continue
      for (const decode of DECODERS) {
        const decoded = decode(candidate)
        if (decoded === '' || seen.has(decoded)) continue
        seen.add(decoded)
        spent += decoded.length
        if (spent > BUDGET_CHARACTERS) return true
        next.push(decoded)
      }
    }
    level = next
  }
  return false
}

function percent(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
}

function entities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{2,8}));?/gi, (all, decimal, hex, name) => {
    if (name) return NAMED_ENTITIES[name] ?? all
    return codePoint(decimal ? Number(decimal) : Number.parseInt(hex, 16)) ?? all
  })
}

/** The escapes of JSON, JavaScript, C and shells: \u0073, \u{73}, \x73, \163, \/ */
function backslashes(text: string): string {
  return text.replace(
    /\\(?:u\{?([0-9a-f]{2,6})\}?|x([0-9a-f]{2})|([0-7]{3})|(.))/gi,
    (all, u, x, o, other) => {
      if (other !== undefined) return /[bfnrtv0]/.test(other) ? ' ' : other
      return codePoint(o === undefined ? Number.parseInt(u ?? x, 16) : Number.parseInt(o, 8)) ?? all
    },
  )
}

function codePoint(code: number): string | undefined {
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined
}

/** RFC 2045 §6.7 */
function quotedPrintable(text: string): string {
  return text
    .replace(/=\r?\n/g, '')
    .replace(/(?:=[0-9A-F]{2})+/g, (run) => Buffer.from(run.replaceAll('=', ''), 'hex').toString())
}

/** Each run of base64 or base64url, at each of the four ways in which its groups of four can lie. */
function base64(text: string): string {
  const runs = text.match(/[A-Za-z0-9+/_-]{11,}/g) ?? []
  return runs
    .flatMap((run) => [0, 1, 2, 3].map((start) => printable(Buffer.from(run.slice(start), 'base64'))))
    .filter(Boolean)
    .join('\n')
}

/** Base64 that is wrapped into lines (RFC 2045 §6.8). */
function base64Lines(text: string): string {
  return /[A-Za-z0-9+/_-]{4}\s+[A-Za-z0-9+/_-]/.test(text) ? base64(text.replace(/\s+/g, '')) : ''
}

/** 736573…, 73 65 73, 73:65:73, 0x73, 0x65 */
function hexadecimal(text: string): string {
  const runs = text.match(/(?:(?:0x)?[0-9a-f]{2}[\s:,-]{0,2}){8,}[0-9a-f]?/gi) ?? []
  return runs
    .map((run) => run.replace(/0x|[\s:,-]/gi, ''))
    .flatMap((digits) => [0, 1].map((start) => printable(Buffer.from(digits.slice(start), 'hex'))))
    .filter(Boolean)
    .join('\n')
}

/** 115, 101, 115: an array of bytes */
function codeNumbers(text: string): string {
  const runs = text.match(/(?:\d{2,3}[\s,;]{1,3}){8,}\d{0,3}/g) ?? []
  return runs.map((run) => printable(Buffer.from((run.match(/\d+/g) ?? []).map(Number)))).join('\n')
}

/** What of the bytes is readable; NULs are dropped, which makes UTF-16 readable. */
function printable(bytes: Buffer): string {
  return (bytes.toString('latin1').replaceAll('\0', '').match(PRINTABLE_RUN) ?? []).join('\n')
}
