import { appendFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { VERSION } from '#shared/process/version.ts'

const INFO = 30

/**
 * Returns a function that writes an entry of the activity as a line of the audit trail, which survives if the
 * database is restored to an earlier state: to `auditFile`, that of the local stack. Without a file, or if it
 * cannot be written, the line goes to `stderr`.
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

/**
 * Appends a line to a file that only its owner can read. Returns whether it could: a full disk must not end
 * the stack.
 */
export function appendLine(file: string, line: string): boolean {
  try {
    appendFileSync(file, `${line}\n`, { mode: 0o600 })
    return true
  } catch {
    return false
  }
}

/** The operating system user, who may have only a number in a container. */
export function osUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
