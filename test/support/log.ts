import { pino } from 'pino'
import type { Log } from '#shared/process/log.ts'

export const silentLog = (): Log => pino({ level: 'silent' })

/** Returns a log of level info and up, and the lines that it was given, as objects. */
export function createTestLog() {
  const lines: Record<string, unknown>[] = []
  const log: Log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { log, lines }
}

export const loggedEvents = ({ logLines }: { logLines: string[] }, name: string) =>
  logLines.map((line) => JSON.parse(line)).filter(({ event }) => event === name)

/** Returns why each logged request was refused. */
export const refusalReasons = (auth: { logLines: string[] }) => requestLines(auth).map(({ reason }) => reason)

/** Returns the log lines of requests as objects. What a server logs on its own account has no request id. */
export const requestLines = ({ logLines }: { logLines: string[] }) =>
  logLines.map((line) => JSON.parse(line)).filter(({ requestId }) => requestId)
