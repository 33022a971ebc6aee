import { hash } from 'node:crypto'

/** A strong entity tag (RFC 9110 §8.8.3) of these bytes, or of a text in UTF-8. */
export const entityTag = (content: Uint8Array | string): string =>
  `"${hash('sha256', content, 'base64url').slice(0, 27)}"`

/** Each with its opaque part, which is all that the weak comparison looks at (§8.8.3.2). */
const TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

/** Whether an If-None-Match field value names this tag: weak comparison, a list or `*` (RFC 9110 §13.1.2). */
export const matchesNone = (ifNoneMatch = '', tag: string): boolean =>
  ifNoneMatch.trim() === '*' || [...ifNoneMatch.matchAll(TAG)].some(([, opaque]) => opaque === tag)

/**
 * Whether an If-Match field value fails: it names tags, and this is none of them (RFC 9110 §13.1.1). Strong
 * comparison: a weak tag never matches.
 */
export const failsIfMatch = (ifMatch = '*', tag: string | undefined): boolean =>
  ifMatch.trim() !== '*' && ![...ifMatch.matchAll(TAG)].some(([sent]) => sent === tag)
