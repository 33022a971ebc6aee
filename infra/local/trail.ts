import { hostname, userInfo } from 'node:os'
import { VERSION } from '#shared/process/version.ts'
import { appendLine } from './service-output.ts'

const INFO = 30

/**
 * Returns what writes each entry of the activity as a line of the audit trail, which survives if the database is restored
 * to an earlier state: to `auditFile`, that of the local stack. Without a file, or if it cannot be written, the line goes
 * to `stderr`.
 */
export const createTrail =
  ({ auditFile, stderr }: { auditFile: string | undefined; stderr: Pick<NodeJS.WritableStream, 'write'> }) =>
  (entry: object): void => {
    const from = { service: 'admin', version: VERSION, instance: hostname(), pid: process.pid }
    const line = JSON.stringify({
      level: INFO,
      time: new Date().toISOString(),
      ...from,
      event: 'activity',
      osUser: osUser(),
      ...entry,
      msg: 'recorded in the activity',
    })
    if (auditFile === undefined || !appendLine(auditFile, line)) stderr.write(`${line}\n`)
  }

/** The operating system user, who may have only a number in a container. */
export function osUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
