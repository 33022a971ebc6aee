import { ConfigError } from '#shared/process/config.ts'

/** The reason why the local stack cannot run, in one sentence for the person who started it. */
export class StartError extends Error {}

/** How each failure to build the screens begins. */
export const BUILD_FAILED = "The workspace's screens could not be built"

/** Returns the error's code, such as `EADDRINUSE`, or undefined. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' ? code : undefined
}

/** Returns a sentence for any failure, without a stack trace. Names a full disk wherever it occurred. */
export function describeFailure(error: unknown, dataDir: string): string {
  const text = error instanceof Error ? error.message : String(error)
  const isFull = errorCode(error) === 'ENOSPC' || /no space left on device/i.test(text)
  if (isFull && text.startsWith(BUILD_FAILED)) return 'The disk that holds node_modules is full: make room.'
  if (isFull)
    return `The disk that holds ${dataDir} is full: make room, or set DATA_DIR to a folder on another disk.`
  if (error instanceof StartError || error instanceof ConfigError) return text
  return `The local stack could not start: ${text.trim()}`
}
