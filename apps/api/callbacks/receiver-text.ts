// biome-ignore-all lint/suspicious/noControlCharactersInRegex: control characters are what this file looks for
/*
 * From the bytes that a receiver sent to text that can be shown: decoded, then without anything that acts on a
 * terminal, a browser or a reader's eye. Secrets are hidden after this, in redaction.ts, and only then is it cut to
 * size, so that no cut can hide a secret from the eye that looks for it.
 */

const LETTERS_OF_BINARY_SHARE = 0.1
const COMPRESSED: readonly [string, RegExp][] = [
  ['gzip', /^\x1f\x8b/],
  ['zstd', /^\x28\xb5\x2f\xfd/],
  ['zip', /^PK\x03\x04/],
  ['bzip2', /^BZh[1-9]1AY/],
  ['xz', /^\xfd7zXZ/],
]

/** What there is to show of a body: its text, or one phrase about it. */
export type BodyText = { text: string } | { summary: string }

/**
 * Decodes what was read of a body. What is compressed, binary or in an unknown charset is only described.
 * @param contentType and contentEncoding as the receiver sent them, or undefined.
 */
export function bodyText({
  bytes,
  contentType,
  contentEncoding,
}: {
  bytes: Buffer
  contentType: string | undefined
  contentEncoding: string | undefined
}): BodyText {
  const coding = contentEncoding?.trim().toLowerCase()
  const start = bytes.subarray(0, 16).toString('latin1')
  const magic = COMPRESSED.find(([, pattern]) => pattern.test(start))?.[0]
  if ((coding && coding !== 'identity') || magic) {
    return { summary: `a compressed body, ${count(bytes)}; it is not unpacked` }
  }
  const decoder = decoderFor(contentType, bytes)
  const text = decoder?.decode(bytes)
  if (text === undefined || looksBinary(text)) return { summary: `a binary body, ${count(bytes)}` }
  return { text }
}

const count = (bytes: Buffer): string => `${bytes.length.toLocaleString('en')} bytes read`

function decoderFor(contentType: string | undefined, bytes: Buffer): TextDecoder | undefined {
  const label = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType ?? '')?.[1] ?? markedCharset(bytes)
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}

function markedCharset(bytes: Buffer): string {
  const mark = bytes.subarray(0, 2).toString('hex')
  return mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8'
}

function looksBinary(text: string): boolean {
  const odd = text.match(/[\0-\x06\x0e-\x1a\x1c-\x1f\uFFFD]/g)?.length ?? 0
  return text.includes('\0') || odd > text.length * LETTERS_OF_BINARY_SHARE
}

const ESCAPES = new RegExp(
  [
    // OSC, DCS, SOS, PM and APC strings with their content (ECMA-48 §5.6), 7-bit and C1 forms
    /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,1024}(?:\x07|\x1b\\|\x9c)/,
    // CSI (§5.4), where colours and cursor movements are
    /(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]/,
    // nF escape sequences, and the two-character ones that terminals act on
    /\x1b[ -/]{1,8}[0-~]/,
    /\x1b[=>78cDEHMNOZ|}~\\]/,
  ]
    .map((pattern) => pattern.source)
    .join('|'),
  'g',
)
/** Everything that is not seen but acts: controls, bidirectional and other format characters, fillers, tags (U+E0000). */
const UNSEEN =
  /[[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]--[\n]]/gv
const HIDDEN_ELEMENTS =
  /<(script|style|template|svg)\b[^<>]{0,512}>[\s\S]{0,16384}?<\/\1\s*>|<!--[\s\S]{0,16384}?-->/gi
const BLOCK_TAG =
  /<\/?(?:address|article|br|dd|div|dl|dt|fieldset|footer|form|h[1-6]|head|header|hr|li|main|nav|ol|p|pre|section|table|td|th|title|tr|ul)\b[^<>]*>/gi
const TAG = /<[^<>]*>/g
const TAG_ROUNDS = 8

/** Text without terminal escapes, controls, invisible characters and tags. New lines stay, as `\n`. */
export function plainText(text: string): string {
  let plain = text
    .replace(ESCAPES, '')
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replaceAll('\t', ' ')
    .replace(UNSEEN, '')
    .replace(HIDDEN_ELEMENTS, '')
    .replace(BLOCK_TAG, '\n')
  // Taking a tag away can make another one of what was around it.
  for (let round = 0; round < TAG_ROUNDS; round++) plain = plain.replace(TAG, '')
  return plain
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{2,}/g, '\n')
    .trim()
}

const MAX_LINES = 40
const MAX_LINE_CHARACTERS = 400

/** Cuts text to lines that fit a screen, and says so where it cut. */
export function cutToLines(text: string, maxLines = MAX_LINES): string[] {
  const lines = text.split('\n').filter((line) => line !== '')
  const kept = lines.slice(0, maxLines).map((line) => {
    const characters = [...line]
    return characters.length <= MAX_LINE_CHARACTERS
      ? line
      : `${characters.slice(0, MAX_LINE_CHARACTERS).join('')}…`
  })
  return lines.length > maxLines ? [...kept, `… and ${lines.length - maxLines} more lines`] : kept
}
