// biome-ignore-all lint/suspicious/noControlCharactersInRegex: removing control characters is the purpose

/**
 * Terminal escapes (ECMA-48). The text of an unterminated string stays. Its introducing characters are
 * controls and are removed as such.
 */
const ESCAPES: readonly RegExp[] = [
  // OSC, DCS, SOS, PM and APC strings with their content (§5.6), in 7-bit and C1 forms
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\x9d\x90\x98\x9e\x9f]*(?:\x07|\x1b\\|\x9c)/g,
  // CSI (§5.4): colours, cursor movements
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g,
  // nF escape sequences, and the two-character ones that terminals act on
  /\x1b[ -/]+[0-~]/g,
  /\x1b[=>78cDEHMNOZ|}~\\]/g,
]
/** Invisible characters: controls, bidirectional and other format characters, fillers, tags (U+E0000). */
const UNSEEN =
  /[[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]--[\n]]/gv
const HIDDEN_ELEMENT = /<(?:(script|style|template|svg)\b[^<>]*>|!--)/gi
const END_OF_HIDDEN: Record<string, RegExp> = {
  script: /<\/script\s*>/gi,
  style: /<\/style\s*>/gi,
  template: /<\/template\s*>/gi,
  svg: /<\/svg\s*>/gi,
}
const END_OF_COMMENT = /-->/g
const BLOCK_TAG =
  /<\/?(?:address|article|br|dd|div|dl|dt|fieldset|footer|form|h[1-6]|head|header|hr|li|main|nav|ol|p|pre|section|table|td|th|title|tr|ul)\b[^<>]*>/gi
const TAG = /<[^<>]*>/g
const TAG_ROUNDS = 8

/**
 * Strips terminal escapes, control characters, invisible characters and tags, so that the text cannot affect
 * a terminal, a browser or a reader's eye. Line breaks become `\n`. Runs of line breaks or spaces become one.
 * Linear.
 */
export function plainText(text: string): string {
  const visible = ESCAPES.reduce((result, sequence) => result.replace(sequence, ''), text)
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replaceAll('\t', ' ')
    .replace(UNSEEN, '')
  let plain = withoutHiddenElements(visible).replace(BLOCK_TAG, '\n')
  // Removing a tag can turn the text around it into a new tag.
  for (let round = 0; round < TAG_ROUNDS; round++) plain = plain.replace(TAG, '')
  return plain
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{2,}/g, '\n')
    .trim()
}

/** Removes comments and elements that a page does not show as text, including their content. */
function withoutHiddenElements(text: string): string {
  /** End tags known to be missing from here on. Searching again for each opener would be quadratic. */
  const missing = new Set<string>()
  let result = ''
  let from = 0
  for (const opener of text.matchAll(HIDDEN_ELEMENT)) {
    const name = opener[1]?.toLowerCase() ?? ''
    if (opener.index < from || missing.has(name)) continue
    const end = END_OF_HIDDEN[name] ?? END_OF_COMMENT
    end.lastIndex = opener.index + opener[0].length
    if (end.test(text)) {
      result += text.slice(from, opener.index)
      from = end.lastIndex
    } else {
      missing.add(name)
    }
  }
  return result + text.slice(from)
}
