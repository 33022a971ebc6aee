/** The same text whatever way it was put together: composed or not, with single or several spaces. */
export const plain = (text: string): string => text.normalize('NFC').trim().replace(/\s+/g, ' ')

/** Whether a name was typed, or what does as well: an id, or an email address in lower case. */
export function confirms(input: string, name: string, alternative: string): boolean {
  const text = plain(input)
  return text === plain(name) || text === alternative || text.toLowerCase() === alternative
}
