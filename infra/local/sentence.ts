import { ConfigError } from '#shared/process/config.ts'
import { errorCode, Failure } from './failure.ts'

/** Returns a sentence for any failure, without a stack trace. A full disk is named as such wherever it occurred. */
export function sentence(error: unknown, dataDir: string): string {
  const text = error instanceof Error ? error.message : String(error)
  if (errorCode(error) === 'ENOSPC' || /no space left on device/i.test(text))
    return `The disk that holds ${dataDir} is full: make room, or set DATA_DIR to a folder on another disk.`
  if (error instanceof Failure || error instanceof ConfigError) return text
  return `The local stack could not start: ${text.trim()}`
}
