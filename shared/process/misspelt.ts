/** Shorter names are too close to one another, and to those of other programs. */
const JUDGED_FROM_CHARACTERS = 7
const JUDGED_TO_CHARACTERS = 64
/** One or two characters in a row are missing, added, wrong or swapped. */
const SLIP_MAX = 2

/**
 * Returns the variables that have no effect and whose name, or `<NAME>` if it is `<NAME>_FILE`, is one of `names` but for
 * one typo, with that name and a sentence for a person.
 */
export function misspeltSettings(env: Record<string, unknown>, names: readonly string[]) {
  return Object.keys(env).flatMap((variable) => {
    const name = variable.replace(/_FILE$/, '')
    const didYouMean = names.includes(name) ? undefined : nearest(name.toUpperCase(), names)
    if (didYouMean === undefined) return []
    const sentence = `${variable}: is not a known setting; did you mean ${didYouMean}?`
    return [{ variable, didYouMean, sentence }]
  })
}

function nearest(name: string, names: readonly string[]): string | undefined {
  if (name.length < JUDGED_FROM_CHARACTERS || name.length > JUDGED_TO_CHARACTERS) return undefined
  return names.find((known) => known.length >= JUDGED_FROM_CHARACTERS && slip(name, known) <= SLIP_MAX)
}

/** @returns the length of what differs between their common beginning and end. */
function slip(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  let same = 0
  while (same < shorter && a[same] === b[same]) same += 1
  const begin = same
  while (same < shorter && a.at(begin - same - 1) === b.at(begin - same - 1)) same += 1
  return Math.max(a.length, b.length) - same
}
