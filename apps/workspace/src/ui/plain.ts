/** The same text whatever way it was put together: composed or not, with single or several spaces. */
export const plain = (text: string): string => text.normalize('NFC').trim().replace(/\s+/g, ' ')
