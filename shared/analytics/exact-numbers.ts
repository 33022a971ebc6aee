// A number after a member's name, with a fraction or an exponent. Finding one inside a string does no harm.
const FRACTION_OR_EXPONENT = /"\s*:\s*-?\d+(?:\.\d|e)/i

/** In well-formed JSON: a whole string, or a number without its sign that has a fraction or an exponent. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.])\d+(?=[.e])(?:\.\d+)?(?:e[-+]?\d+)?/gi

const NOT_WHOLE = '0.5'

/**
 * JSON.parse, but a number that is not whole and would be rounded to one that is, such as 4503599627370496.5 or
 * 1e-400, becomes another that is not whole. Whole numbers beyond 2^53 stay beyond 2^53 when they are rounded.
 * @throws SyntaxError
 */
export function parseUnrounded(text: string): unknown {
  const parsed = JSON.parse(text)
  if (!FRACTION_OR_EXPONENT.test(text)) return parsed
  return JSON.parse(
    text.replace(STRING_OR_NUMBER, (token) => (token[0] !== '"' && isRounded(token) ? NOT_WHOLE : token)),
  )
}

const isRounded = (number: string): boolean => Number.isInteger(Number(number)) && !isWhole(number)

const PARTS = /^(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i

/** Whether a JSON number is whole: 1.0 and 1.5e1 are, 1.05e1 is not. */
function isWhole(number: string): boolean {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(number) ?? []
  const afterPoint = fraction.length - Number(exponent)
  return afterPoint <= 0 || /^0*$/.test((whole + fraction).slice(-afterPoint))
}
