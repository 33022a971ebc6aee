import cluster from 'node:cluster'
import { hostname } from 'node:os'
import { destination, pino } from 'pino'
import type { Event } from './events.ts'
import { VERSION } from './version.ts'

type Write = (line: { event: Event } & Record<string, unknown>, message: string) => void

export type Log = Record<'debug' | 'info' | 'warn' | 'error', Write> & {
  child(fields: object): Log
  flush(): void
}

/**
 * Lines are written in batches: a process killed with SIGKILL loses the last of them. Workers share one
 * standard output. If it is a pipe, a write of up to 4 KiB stays in one piece among those of other workers
 * (PIPE_BUF, pipe(7)); a longer one could end up in the middle of another's line. A process that writes alone
 * makes larger and fewer writes, since each costs as much as several lines.
 */
const WRITE_MAX_BYTES = cluster.isWorker ? 4 * 1_024 : 16 * 1_024
const WRITTEN_FROM_BYTES = WRITE_MAX_BYTES - 1_024
const FLUSH_EVERY_MS = 100
/** How much is buffered while nothing can be written; anything more is lost. */
const WAITING_MAX_BYTES = 8 * 1_024 * 1_024

/**
 * Structured log lines on standard output. Callers name the fields they log one by one: a request body, a
 * header set or a library's error is never logged whole, so that no secret or token can reach a log. Each
 * line names the service, its version, the machine and the process.
 */
export function createLog({ service, level }: { service: string; level: string }): Log {
  const stream = destination({
    sync: false,
    minLength: WRITTEN_FROM_BYTES,
    maxLength: WAITING_MAX_BYTES,
    maxWrite: WRITE_MAX_BYTES,
    periodicFlush: FLUSH_EVERY_MS,
  })
  outliveFailures(stream)
  const base = { service, version: VERSION, instance: hostname(), pid: process.pid }
  return pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime }, stream)
}

/**
 * A full disk must neither end the service nor keep the process from ending: while nothing can be written,
 * the last flush, which would never finish, is skipped. Reported once each time.
 */
function outliveFailures(stream: ReturnType<typeof destination>): void {
  let failing = false
  const { flushSync } = stream
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Without a reader pino stays silent, and standard error may have no reader either.
    if (error.code === 'EPIPE') return
    if (!failing) process.stderr.write(`The log cannot be written: ${error.code}\n`)
    failing = true
  })
  stream.on('write', () => {
    failing = false
  })
  stream.flushSync = () => {
    if (!failing) flushSync.call(stream)
  }
}
