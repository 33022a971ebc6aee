import { hash } from 'node:crypto'

/** A strong entity tag (RFC 9110 §8.8.3) of these bytes, or of a text in UTF-8. */
export const entityTag = (content: Uint8Array | string): string =>
  `"${hash('sha256', content, 'base64url').slice(0, 27)}"`

const TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

/** Whether an If-None-Match field value names this tag: weak comparison, a list, or `*` (RFC 9110 §13.1.2). */
export function matchesNone(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return [...ifNoneMatch.matchAll(TAG)].some(([, opaque]) => opaque === tag)
}

/** Whether an If-Match field value forbids to go on: it names tags, and this is none of them (RFC 9110 §13.1.1). */
export function failsIfMatch(ifMatch: string | undefined, tag: string | undefined): boolean {
  if (ifMatch === undefined || ifMatch.trim() === '*') return false
  // Strong comparison: a weak tag never matches.
  return ![...ifMatch.matchAll(TAG)].some(([sent]) => sent === tag)
}
