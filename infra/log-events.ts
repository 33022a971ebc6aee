import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const RUNBOOK = readFileSync(join(import.meta.dirname, 'runbook/failures.md'), 'utf8')

/** A row of the runbook's table of the log that is about an event: service, level and fields, then "yes" if audited. */
const EVENT_ROW = /^\| `([a-z_]+\.[a-z_]+|activity)` \|[^|]*\|[^|]*\|[^|]*\| (yes )?\|/gm

const rows = [...RUNBOOK.matchAll(EVENT_ROW)].map(([, name = '', audited]) => ({ name, audited }))

/** Every event, the `event` field of its log line. */
export const EVENT_NAMES: readonly string[] = rows.map(({ name }) => name)

/** The events that the audit trail keeps for later investigations, at any log level. */
export const AUDIT_EVENTS: ReadonlySet<string> = new Set(
  rows.filter(({ audited }) => audited).map(({ name }) => name),
)
