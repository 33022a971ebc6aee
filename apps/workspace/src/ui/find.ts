/** The same text whatever its case and accents. */
export const foldCase = (text: string): string =>
  text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()

/** Whether every word of what was typed is somewhere in the text, or all of it in the id. */
export function finds(input: string, text: string, id = ''): boolean {
  const within = foldCase(text)
  const searched = foldCase(input.trim())
  return searched.split(/\s+/).every((word) => within.includes(word)) || foldCase(id).includes(searched)
}
