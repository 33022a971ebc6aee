import assert from 'node:assert/strict'
import { read } from '../../support/project.ts'

/** The words of a text: a list of cases that hold no space. */
export const words = (text: string): string[] => text.trim().split(/\s+/)

const LISTS = read('test/api/guarded-fetch/urls.txt').split(/^## /m)
/** The words, or lines, below a heading of urls.txt, which begins so. */
export const listed = (heading: string, between = /\s+/): string[] => {
  const [, list] = LISTS.find((each) => each.startsWith(heading))?.split(/\n(.*)/s) ?? assert.fail(heading)
  return list?.trim().split(between) ?? []
}

/** Digits of other alphabets that IDNA maps to ASCII ones: full-width, circled, superscript and so on. */
export const MAPPED_DIGITS = words(`
  ０１２３４５６７８９ ⓪①②③④⑤⑥⑦⑧⑨ ⁰¹²³⁴⁵⁶⁷⁸⁹ ₀₁₂₃₄₅₆₇₈₉
  𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗 𝟘𝟙𝟚𝟛𝟜𝟝𝟞𝟟𝟠𝟡 𝟶𝟷𝟸𝟹𝟺𝟻𝟼𝟽𝟾𝟿 🯰🯱🯲🯳🯴🯵🯶🯷🯸🯹
`)
/** Full stops that IDNA maps to the ASCII one. */
export const MAPPED_DOTS = ['。', '．', '｡']
/** `text` with its digits written in another alphabet. */
export const inDigits = (text: string, digits: string): string =>
  text.replace(/\d/g, (digit) => [...digits][Number(digit)] ?? digit)

/** RFC 1035 §2.3.4 */
export const LONGEST_LABEL = 'a'.repeat(63)
export const LONGEST_NAME = `${LONGEST_LABEL}.${LONGEST_LABEL}.${LONGEST_LABEL}.${'a'.repeat(57)}.com`
