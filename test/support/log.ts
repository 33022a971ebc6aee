import { pino } from 'pino'
import type { Log } from '#shared/process/log.ts'

export const silentLog = (): Log => pino({ level: 'silent' })

/** Returns what was logged of requests, as objects. What a server logs by itself, as of its clock, has no request id. */
export const requestLines = ({ logLines }: { logLines: string[] }) =>
  logLines.map((line) => JSON.parse(line)).filter(({ requestId }) => requestId)
