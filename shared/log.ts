import { destination, type Logger, pino } from 'pino'

export type Log = Logger

/**
 * Lines are written together, some under load: a process that is killed outright loses the last of them. A write of
 * up to 4 KiB to a pipe stays in one piece, also between those of other processes (PIPE_BUF, pipe(7)).
 */
const WRITTEN_FROM_BYTES = 3 * 1_024
const WRITE_MAX_BYTES = 4 * 1_024
const FLUSH_EVERY_MS = 100

/**
 * Structured log lines on standard output. Callers name the fields they log one by one: a request body, a header
 * set or an error of a library is never logged whole, so that no secret or token can reach a log.
 */
export function createLog({ service, level }: { service: string; level: string }): Log {
  return pino(
    { level, base: { service }, timestamp: pino.stdTimeFunctions.isoTime },
    destination({
      sync: false,
      minLength: WRITTEN_FROM_BYTES,
      maxWrite: WRITE_MAX_BYTES,
      periodicFlush: FLUSH_EVERY_MS,
    }),
  )
}

/** A log that says nothing, for tests. */
export const silentLog = (): Log => pino({ level: 'silent' })
