import { hostname } from 'node:os'
import { listOperatorActs } from '#shared/accounts/activity.ts'
import { VERSION } from '#shared/process/version.ts'
import { appendLine } from '../local/service-output.ts'
import { type Operator, osUser } from './operator.ts'

const INFO = 30

/**
 * Returns a command's records in the database as lines of the audit trail, which survive if the database is restored to
 * an earlier state. They contain only ids, so that no email address reaches a log.
 */
export async function auditLines({ db, by }: Operator): Promise<string[]> {
  if (by.entryIds.length === 0) return []
  const from = { service: 'admin', version: VERSION, instance: hostname(), pid: process.pid }
  return (await listOperatorActs(db, by)).map(({ at, vendorId, ...act }) =>
    JSON.stringify({
      level: INFO,
      time: at,
      ...from,
      event: 'operator.acted',
      osUser: osUser(),
      ...act,
      ...(vendorId !== null && { vendorId }),
      msg: 'an operator acted',
    }),
  )
}

/** Adds lines to the local stack's audit trail. Without a file, or if it cannot be written, they go to `stderr`. */
export function writeAudit(
  lines: readonly string[],
  { auditFile, stderr }: { auditFile: string | undefined; stderr: Pick<NodeJS.WritableStream, 'write'> },
): void {
  for (const line of lines)
    if (auditFile === undefined || !appendLine(auditFile, line)) stderr.write(`${line}\n`)
}
