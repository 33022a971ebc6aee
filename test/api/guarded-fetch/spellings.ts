/** The words of a text: a list of cases that hold no space. */
export const words = (text: string): string[] => text.trim().split(/\s+/)

const FULLWIDTH = '０１２３４５６７８９'
const CIRCLED = '⓪①②③④⑤⑥⑦⑧⑨'
const SUPERSCRIPT = '⁰¹²³⁴⁵⁶⁷⁸⁹'
const SUBSCRIPT = '₀₁₂₃₄₅₆₇₈₉'
const BOLD = '𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗'
const DOUBLE_STRUCK = '𝟘𝟙𝟚𝟛𝟜𝟝𝟞𝟟𝟠𝟡'
const MONOSPACE = '𝟶𝟷𝟸𝟹𝟺𝟻𝟼𝟽𝟾𝟿'
const SEGMENTED = '🯰🯱🯲🯳🯴🯵🯶🯷🯸🯹'
/** Digits of other alphabets that IDNA maps to ASCII ones. */
export const MAPPED_DIGITS = [
  FULLWIDTH,
  CIRCLED,
  SUPERSCRIPT,
  SUBSCRIPT,
  BOLD,
  DOUBLE_STRUCK,
  MONOSPACE,
  SEGMENTED,
]
/** Full stops that IDNA maps to the ASCII one. */
export const MAPPED_DOTS = ['。', '．', '｡']
/** `text` with its digits written in another alphabet. */
export const inDigits = (text: string, digits: string): string =>
  text.replace(/\d/g, (digit) => [...digits][Number(digit)] ?? digit)

/** RFC 1035 §2.3.4 */
export const LONGEST_LABEL = 'a'.repeat(63)
export const LONGEST_NAME = `${LONGEST_LABEL}.${LONGEST_LABEL}.${LONGEST_LABEL}.${'a'.repeat(57)}.com`
