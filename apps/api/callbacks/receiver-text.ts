// biome-ignore-all lint/suspicious/noControlCharactersInRegex: binary bodies have control characters
import { plainText } from './plain-text.ts'
import { redact } from './redaction.ts'

const MAX_LINES = 40
const MAX_LINE_CHARACTERS = 400

/**
 * Makes text from a receiver safe to show, as lines that fit a screen. This function owns the order. Text is
 * stripped first, so that nothing invisible can break up a secret, then redacted, and only then cut, so that
 * no cut can leave an unrecognisable part of a secret. Linear.
 * @param raw decoded text.
 */
export function displayLines(raw: string, maxLines = MAX_LINES): string[] {
  return cutToLines(redact(plainText(raw)), maxLines)
}

/** The part of a body that was read, and how the receiver described it. */
export interface ReceivedBody {
  bytes: Buffer
  /** False if reading stopped before the end. */
  whole: boolean
  /** The value of the Content-Type header, if any. */
  contentType: string | undefined
  /** The value of the Content-Encoding header, if any. */
  contentEncoding: string | undefined
}

export type DisplayBody = { lines: string[] } | { summary: string }

/** Returns the body, safe to show. A compressed or binary body, or an unknown charset, is only described. */
export function displayBody(body: ReceivedBody): DisplayBody {
  const content = decode(body)
  if ('summary' in content) return content
  return { lines: displayLines(body.whole ? content.text : withoutLastWord(content.text)) }
}

/** A text with a larger share of control or replacement characters is binary. */
const ODD_CHARACTERS_MAX_SHARE = 0.1

function decode({
  bytes,
  contentType,
  contentEncoding,
}: ReceivedBody): { text: string } | { summary: string } {
  const coding = contentEncoding?.trim().toLowerCase()
  if (coding && coding !== 'identity') {
    return { summary: `a compressed body, ${count(bytes)}; it is not decompressed` }
  }
  const text = decoderFor(contentType)?.decode(bytes)
  if (text === undefined || looksBinary(text)) return { summary: `a binary body, ${count(bytes)}` }
  return { text }
}

const count = (bytes: Buffer): string => `${bytes.length.toLocaleString('en')} bytes read`

function decoderFor(contentType: string | undefined): TextDecoder | undefined {
  const label = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType ?? '')?.[1]
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}

function looksBinary(text: string): boolean {
  const odd = text.match(/[\0-\x06\x0e-\x1a\x1c-\x1f\uFFFD]/g)?.length ?? 0
  return text.includes('\0') || odd > text.length * ODD_CHARACTERS_MAX_SHARE
}

/** Reading may have stopped in the middle of a secret, and the first part would not be recognised. */
function withoutLastWord(text: string): string {
  let end = text.length
  while (end > 0 && !/[\s"'<>,;&]/.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

function cutToLines(text: string, maxLines: number): string[] {
  const lines = text.split('\n').filter((line) => line !== '')
  const firstLines = lines.slice(0, maxLines).map((line) => {
    const characters = [...line]
    return characters.length <= MAX_LINE_CHARACTERS
      ? line
      : `${characters.slice(0, MAX_LINE_CHARACTERS).join('')}…`
  })
  return lines.length > maxLines ? [...firstLines, `… and ${lines.length - maxLines} more lines`] : firstLines
}
