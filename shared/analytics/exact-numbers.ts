// A number that follows a member's name and has a fraction or an exponent. In a string it does no harm to find one.
const FRACTION_OR_EXPONENT = /"\s*:\s*-?\d+(?:\.\d|e)/i

/**
 * What JSON.parse made of `text`, but with NaN where it rounded a number that is not whole to one that is, such as
 * 4503599627370496.5 or 1e-400. Whole numbers beyond 2^53 are left: they stay beyond 2^53 when they are rounded.
 */
export function withoutRoundedNumbers(text: string, parsed: unknown): unknown {
  if (!FRACTION_OR_EXPONENT.test(text)) return parsed
  return JSON.parse(text, (_key, value, { source }: { source?: string } = {}) =>
    Number.isInteger(value) && source !== undefined && !isWhole(source) ? Number.NaN : value,
  )
}

/** Whether a JSON number stands for a whole one: 1.0 and 1.5e1 do, 1.05e1 does not. */
function isWhole(source: string): boolean {
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e')
  const [, fraction = ''] = mantissa.split('.')
  const digits = mantissa.replace(/[-.]/g, '')
  if (/^0*$/.test(digits)) return true
  const afterPoint = fraction.length - Number(exponent)
  return afterPoint <= 0 || /^0*$/.test(digits.slice(-afterPoint))
}
