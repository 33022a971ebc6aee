/** What stops the local stack from running, as one sentence for the person who started it. */
export class Failure extends Error {}

/** @returns the error's code, such as `EADDRINUSE`, or undefined. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' ? code : undefined
}

/** A sentence for any failure: no stack trace, and a full disk is named as such wherever it appeared. */
export function sentence(error: unknown, dataDir: string): string {
  const text = error instanceof Error ? error.message : String(error)
  if (errorCode(error) === 'ENOSPC' || /no space left on device/i.test(text))
    return `The disk that holds ${dataDir} is full: make room, or set DATA_DIR to a folder on another disk.`
  if (error instanceof Failure) return text
  return `The local stack could not start: ${text.trim()}`
}
