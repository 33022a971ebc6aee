import { PASSWORD_MIN_CHARACTERS } from '#shared/rules/passwords.ts'
import { isCommonPassword } from './common-passwords.ts'

/** Shorter parts of a name or address are too common to identify anyone. */
const PART_MIN_CHARACTERS = 4
/** As few characters around a common password or a name are guessed with it. */
const ADDED_MAX_CHARACTERS = 6
const DIFFERENT_MIN = 5
const SERVICE = 'Integration Access'

/**
 * Returns what is wrong with a new password, as the predicate of a sentence; undefined if nothing is (NIST SP
 * 800-63B-4 §3.1.1.2).
 * @param about what the person is known by: address, name, companies.
 */
export function passwordFault(password: string, about: readonly string[]): string | undefined {
  if ([...password].length < PASSWORD_MIN_CHARACTERS)
    return `must have at least ${PASSWORD_MIN_CHARACTERS} characters`
  const text = password.normalize('NFKC').toLowerCase()
  if (isCommon(text)) return 'must not be one of the most common passwords, even with a few characters added'
  if (isPattern(text)) return 'must not repeat or continue the same few characters'
  if (isAbout(text, about)) return 'must not be guessable from your name, email address or company'
  return undefined
}

function isCommon(text: string): boolean {
  if (isCommonPassword(text)) return true
  const characters = [...text]
  const begin = characters.findIndex(isLetter)
  if (begin < 0) return false
  const end = characters.findLastIndex(isLetter) + 1
  const word = characters.slice(begin, end).join('')
  const added = characters.slice(0, begin).concat(characters.slice(end)).join('')
  const isGuessed = added.length <= ADDED_MAX_CHARACTERS || isCommonPassword(added)
  return word.length >= PART_MIN_CHARACTERS && isGuessed && isCommonPassword(word)
}

const isLetter = (character: string): boolean => /^\p{L}$/u.test(character)

function isPattern(text: string): boolean {
  const characters = [...text]
  if (new Set(characters).size < DIFFERENT_MIN) return true
  // The place where a text occurs in itself, doubled, is the length of what it repeats.
  const period = (text + text).indexOf(text, 1)
  if (period < text.length && (period <= ADDED_MAX_CHARACTERS || isCommonPassword(text.slice(0, period))))
    return true
  const codes = characters.map((character) => character.codePointAt(0) ?? 0)
  const steps = codes.slice(1).map((code, index) => code - (codes[index] ?? 0))
  const continued = [1, -1].map(
    (step) => steps.filter((difference) => difference === step || difference === step * -9).length,
  )
  return Math.max(...continued) >= steps.length - 2
}

function isAbout(text: string, about: readonly string[]): boolean {
  const parts = [...about, SERVICE]
    .flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]/u)])
    .map(plain)
    .filter((part) => part.length >= PART_MIN_CHARACTERS)
    .sort((a, b) => b.length - a.length)
  const whole = plain(text)
  const added = parts.reduce((remaining, part) => remaining.replaceAll(part, ''), whole)
  return added.length < whole.length && added.length <= ADDED_MAX_CHARACTERS
}

/** Letters and digits only. */
const plain = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
