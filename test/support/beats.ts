/** Returns a command's output without the lines by which it reports, on a slow machine, that it runs. */
export const withoutBeats = (text: string): string => text.replaceAll(/^.* \(\d+ s\)\n/gm, '')
