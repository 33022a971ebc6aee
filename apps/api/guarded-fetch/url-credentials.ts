import { nameWords, SECRET_SHAPES } from './secret-shapes.ts'

/* Credentials in a URL: a parameter with the name of one, or text with the form of one. */

/** Ends the name of a credential, whatever precedes it: `access_token`, `X-Amz-Signature`. */
const CREDENTIAL_END =
  /(?:tokens?|secrets?|passwords?|passwd|passphrase|passkey|passcode|pwd|pswd|credentials?|creds?|signature|hmac|jwt|sess(?:ion)?id|accesskeyid|(?:user|db|login|admin)pass|(?:api|access|secret|private|auth|account|master|shared|client|user|app|service|function|subscription|routing|integration|signing|encryption|webhook|license|write|server|security|sas)keys?)$/
/** Is the whole name of one. As the last of several words it may be something else: `boarding_pass`. */
const CREDENTIAL_NAME =
  /^(?:keys?|pw|psw|pass|passw|sig|auth|authorization|authentication|oauth|bearer|session|cookies?|t?otp|sas)$/
/** Ends a name whose value decides, as it does for names with a credential's word elsewhere: `token_type`. */
const UNCLEAR_END =
  /(?:keys?|sig|pass|auth|authorization|authentication|session|cookies?|otp|sas)$|^(?:code|sign)$|(?:access|auth|secret|security|function)code$/
const HARMLESS_NAME = /(?:publickey|(?:max|min|total)tokens)$/
/** Says nothing of what it is part of: `token_value`, and `signature_v2`, since digits are dropped. */
const EMPTY_WORD = /^(?:value|v)$/
const SWITCH = /^(?:true|false|yes|no|none|on|off|0|1)$/i

/** Whether a parameter of the query, or of a segment of the path, carries a credential. */
export function hasCredentialParameter({ pathname, search }: URL): boolean {
  const query = search.slice(1)
  // Both raw and decoded, because a parameter may contain a URL with its own parameters.
  const inQuery = [query, percentDecode(query)].flatMap((text) => text.split(/[?&;]/))
  const inPath = pathname.split('/').flatMap((segment) => segment.split(';').slice(1))
  return [...inQuery, ...inPath].some((parameter) => {
    const at = `${parameter}=`.indexOf('=')
    return isCredential(percentDecode(parameter.slice(0, at)), percentDecode(parameter.slice(at + 1)))
  })
}

function isCredential(name: string, value: string): boolean {
  const words = nameWords(name)
  const last = words.findLastIndex((word) => !EMPTY_WORD.test(word))
  const joined = words.slice(0, last + 1).join('')
  if (SWITCH.test(value) || HARMLESS_NAME.test(joined)) return false
  if (CREDENTIAL_END.test(joined) || CREDENTIAL_NAME.test(joined)) return true
  const isNamed = (word: string) => CREDENTIAL_END.test(word) || CREDENTIAL_NAME.test(word)
  return (UNCLEAR_END.test(joined) || words.some(isNamed)) && !isPlain(value)
}

/** Whether it reads as words, such as a type or a URL, or as a number or a time. */
const isPlain = (value: string): boolean =>
  /^[\d:.,TZ +-]*$/.test(value) || value.split(/[^A-Za-z\d]/).every(isWord)

/** Whether the path or the query contains a secret with a recognisable form. */
export function hasSecret({ pathname, search }: URL): boolean {
  const text = percentDecode(`${pathname}${search}`)
  return SECRET_SHAPES.some((shape) => [...text.matchAll(shape)].some(([secret]) => !isSlug(secret)))
}

const WORD_CHARACTERS_MAX = 20
const ID_CHARACTERS_MAX = 8

/** Whether it is written like a word or a number: letters of one case, then a few digits. */
const isWord = (text: string): boolean =>
  text.length <= WORD_CHARACTERS_MAX && /^(?:(?:[A-Z]?[a-z]*|[A-Z]+)\d{0,4}|\d{1,8})$/.test(text)

/** Whether what begins like a key goes on in words, such as `sk-bratislava-warehouse-events`. */
function isSlug(text: string): boolean {
  const parts = text.split(/[-_.]/)
  const isShortId = (part: string) => part.length <= ID_CHARACTERS_MAX && /^[a-z0-9]*$/.test(part)
  return parts.length > 1 && parts.every((part) => isWord(part) || isShortId(part))
}

const DECODED_TIMES = 4

/** Percent-decodes until nothing changes, at most four times, as a receiver might. */
function percentDecode(text: string): string {
  let result = text.replaceAll('+', ' ')
  for (let time = 0; time < DECODED_TIMES; time++) {
    const next = result.replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
      Buffer.from(run.replaceAll('%', ''), 'hex').toString(),
    )
    if (next === result) break
    result = next
  }
  return result
}
