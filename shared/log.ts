import { fstatSync } from 'node:fs'
import { destination, type Logger, pino } from 'pino'

export type Log = Logger

/**
 * Lines are written together, some under load: a process that is killed outright loses the last of them. A write of
 * up to 4 KiB to a pipe stays in one piece, also between those of other processes (PIPE_BUF, pipe(7)).
 */
const WRITTEN_FROM_BYTES = 3 * 1_024
const WRITE_MAX_BYTES = 4 * 1_024
const FLUSH_EVERY_MS = 100
const STDOUT = 1

/**
 * Structured log lines on standard output. Callers name the fields they log one by one: a request body, a header
 * set or an error of a library is never logged whole, so that no secret or token can reach a log.
 */
export function createLog({ service, level }: { service: string; level: string }): Log {
  // A file takes a write at once; a pipe that nobody empties would hold up the process.
  const sync = fstatSync(STDOUT).isFile()
  const stream = destination({
    dest: STDOUT,
    sync,
    minLength: WRITTEN_FROM_BYTES,
    maxWrite: WRITE_MAX_BYTES,
    periodicFlush: FLUSH_EVERY_MS,
  })
  // What is not sync pino flushes itself.
  if (sync) process.once('exit', () => stream.flushSync())
  return pino({ level, base: { service }, timestamp: pino.stdTimeFunctions.isoTime }, stream)
}

/** A log that says nothing, for tests. */
export const silentLog = (): Log => pino({ level: 'silent' })
