import type { Readable } from 'node:stream'
import { AUDITED } from '#shared/process/events.ts'
import { appendLine } from '../admin/trail.ts'

const LEVELS: Record<string, number> = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, silent: 100 }
const INFO = 30
const AUDITED_EVENTS: ReadonlySet<string> = new Set(AUDITED)
const EVENT = /"event":"([a-z_.]{1,64})"/
const LEVEL = /^\{"level":(\d{2})/
const LINE_MAX_CHARACTERS = 64 * 1_024

/** The log level at which a service prints enough both for the audit trail and for `logLevel`. */
export const printedLevel = (logLevel: string): string => ((LEVELS[logLevel] ?? 0) > INFO ? 'info' : logLevel)

/**
 * Routes a service's output: audit events to `auditFile`, and lines of at least `logLevel` to `output`. Text
 * that is not a log line also goes to `output`, and so does an audit event that cannot be written to the
 * file.
 */
export function routeOutput(
  printed: Readable,
  { logLevel, auditFile, output }: { logLevel: string; auditFile: string; output: NodeJS.WritableStream },
): void {
  const threshold = LEVELS[logLevel] ?? 0
  let unfinished = ''
  function routeLine(line: string): void {
    const event = EVENT.exec(line)?.[1]
    const isLost = event !== undefined && AUDITED_EVENTS.has(event) && !appendLine(auditFile, line)
    const level = LEVEL.exec(line)?.[1]
    if (isLost || level === undefined || Number(level) >= threshold) output.write(`${line}\n`)
  }
  printed.setEncoding('utf8')
  printed.on('data', (chunk: string) => {
    const lines = (unfinished + chunk).split('\n')
    unfinished = (lines.pop() ?? '').slice(-LINE_MAX_CHARACTERS)
    for (const line of lines) routeLine(line)
  })
  printed.on('end', () => unfinished && routeLine(unfinished))
}
