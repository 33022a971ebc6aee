import fc from 'fast-check'

/** Any code point. fast-check's own unit `binary` builds a map of all 1.1 million in each process. */
export const ANY_CHARACTER = fc.nat(0x10ffff).map((codePoint) => String.fromCodePoint(codePoint))
