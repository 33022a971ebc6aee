/** Returns what a command said but that it still runs, which it says on a slow machine. */
export const withoutBeats = (text: string): string => text.replaceAll(/^.* \(\d+ s\)\n/gm, '')
