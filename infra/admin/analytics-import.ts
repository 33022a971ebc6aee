import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Operator, record } from '#shared/accounts/activity.ts'
import type { Company } from '#shared/accounts/people.ts'
import { createDateOf } from '#shared/analytics/calendar.ts'
import { datesClosedToImports } from '#shared/analytics/daily.ts'
import { type AnalyticsEvent, DAY_OPEN_TO_IMPORTS_DAYS, judgeEvent } from '#shared/analytics/events.ts'
import { parseUnrounded } from '#shared/analytics/exact-numbers.ts'
import { rememberedIds, SumTooLargeError, storeEvents } from '#shared/analytics/ingest.ts'
import { type Clock, systemClock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { fileAt, required, type Subject } from './commands.ts'
import { LINE_MAX_BYTES, type Line, readLines } from './lines.ts'
import { OperatorError } from './operator.ts'
import { requireCompany } from './people.ts'

const EXIT_LINES_REFUSED = 3
/** Small enough for other writers of the company to wait only briefly. */
const EVENTS_AT_ONCE = 5_000
const REASON_MAX_CHARACTERS = 300

const EXPLANATION = `
FILE is NDJSON: one JSON object per line, with the members of POST /v1/analytics/{vendor_id}/events: eventId,
type, occurredAt and, where needed, quantity, amountMinor, currency. The same rules apply, but events may be
as old as 1970.

Each eventId counts once. Events are stored in batches, each as a whole or not at all. If an import stops or
crashes, run it again: it skips what it has already stored. Ids are not remembered permanently, so an event
with an unknown id is added to a day only if
  - the day has no figures yet, or
  - the first event of the day was stored in the last ${DAY_OPEN_TO_IMPORTS_DAYS} days, which means that all its ids are still remembered.
Events of other days are refused, so finish an import within ${DAY_OPEN_TO_IMPORTS_DAYS} days. Only this command can change
a day that the API reports as final.

Refused lines are named on standard error, with their number and the reason; all others are stored.
Exit code: 0 if every line was accepted, ${EXIT_LINES_REFUSED} if some were refused, 1 if the import failed.`

export const ANALYTICS: Subject = {
  name: 'analytics',
  description: 'Events and daily figures',
  commands: [
    {
      name: 'import',
      description: 'Import the events of a file, whatever their age',
      example: 'analytics import history.ndjson --company ven_acme',
      args: ['file'],
      options: [required('--company <vendor_id>', 'company that the events belong to')],
      explanation: EXPLANATION,
      async run(context, { file, company }: { file: string; company: string }) {
        const { db, by, stderr } = context
        const source = { db, by, clock: systemClock, vendorId: company, file: fileAt(context, file) }
        const counts = await importEvents({
          ...source,
          onRefused: (line, reason) => void stderr.write(`line ${line}: ${reason}\n`),
        })
        const [lines, stored, known, refused] = [
          counts.lines,
          counts.accepted,
          counts.duplicates,
          counts.refused,
        ].map((count) => count.toLocaleString('en'))
        return {
          text: `${lines} lines: ${stored} stored, ${known} already known, ${refused} refused.`,
          data: counts,
          exitCode: counts.refused > 0 ? EXIT_LINES_REFUSED : 0,
        }
      },
    },
  ],
}

export interface ImportCounts {
  /** Non-empty lines. */
  lines: number
  accepted: number
  duplicates: number
  refused: number
}

export interface ImportOptions {
  db: Database
  clock: Clock
  vendorId: string
  by: Operator
  file: string
  onRefused: (line: number, reason: string) => void
}

interface NumberedEvent {
  line: number
  event: AnalyticsEvent
}

/**
 * Imports the events of a file, whatever their age, in batches that are each stored completely or not at all. An invalid
 * line is refused; the others are stored. Run again, it skips what it has stored. An event that is not
 * remembered is added only to a day whose ids are all remembered, or that has no figures yet: no event can be counted
 * twice, however late a file is imported again.
 * @throws OperatorError if the file or the company is unusable (nothing was stored then), or if the database fails (what
 * was stored remains).
 */
export async function importEvents(options: ImportOptions): Promise<ImportCounts> {
  const { db, clock, vendorId, file } = options
  const judge = createJudge(await requireCompany(db, vendorId), clock)
  await requireFile(file)
  const counts: ImportCounts = { lines: 0, accepted: 0, duplicates: 0, refused: 0 }
  const refuse = (line: number, reason: string) => {
    counts.refused += 1
    options.onRefused(line, reason.replaceAll(/\p{C}/gu, '?').slice(0, REASON_MAX_CHARACTERS))
  }
  const storeBatch = createStore(options, counts, refuse)
  let batch: NumberedEvent[] = []
  try {
    for await (const lines of readLines(createReadStream(file)))
      for (const line of lines) {
        if (line.text?.trim() === '') continue
        counts.lines += 1
        const verdict = judge(line)
        if (typeof verdict === 'string') refuse(line.number, verdict)
        else batch.push({ line: line.number, event: verdict })
        if (batch.length < EVENTS_AT_ONCE) continue
        await storeBatch(batch)
        batch = []
      }
    await storeBatch(batch)
    return counts
  } catch (error) {
    throw new OperatorError(
      `The import stopped: ${(error as Error).message}. What was stored is kept; run it again to store the rest.`,
      { cause: error },
    )
  }
}

async function requireFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined)
  if (!found) throw new OperatorError(`The file ${file} does not exist.`)
  if (!found.isFile()) throw new OperatorError(`${file} is not a file.`)
}

/** Returns a function that returns the event of a line, or why the line is refused. */
function createJudge({ timezone, currency }: Company, clock: Clock): (line: Line) => AnalyticsEvent | string {
  const rules = { ageMax_ms: Number.POSITIVE_INFINITY, currency, dateOf: createDateOf(timezone) }
  return ({ text }) => {
    if (text === undefined) return `is not UTF-8 or longer than ${LINE_MAX_BYTES} bytes`
    let sent: unknown
    try {
      sent = parseUnrounded(text)
    } catch {
      return 'is not JSON'
    }
    const judged = judgeEvent(sent, { ...rules, now_ms: clock.now() })
    if ('event' in judged) return judged.event
    return judged.faults.map(({ path, detail }) => [...path, detail].join(' ')).join('; ')
  }
}

/** Returns a function that stores a batch, and records the import before the first event that it stores. */
function createStore(
  { db, vendorId, by, file }: ImportOptions,
  counts: ImportCounts,
  refuse: (line: number, reason: string) => void,
): (batch: readonly NumberedEvent[]) => Promise<void> {
  let recorded = false
  return async (batch) => {
    const days = await withoutClosedDays(db, vendorId, batch)
    counts.duplicates += days.duplicates
    for (const { line, event } of days.refused)
      refuse(line, `the day ${event.date} has figures whose event ids are no longer all remembered`)
    // The import may end at any point, and leaves what it has stored.
    if (days.open.length > 0 && !recorded) {
      await record(db, { vendorId, by }, 'analytics.imported', vendorId, { file: basename(file) })
      recorded = true
    }
    const stored = await storeWhatFits(db, vendorId, days.open)
    counts.accepted += stored.accepted
    counts.duplicates += stored.duplicates
    for (const { line } of stored.refused) refuse(line, 'a total of its day would exceed 9007199254740991')
  }
}

/** Removes the events of days that no import may add to, and tells repeats from new ones. */
async function withoutClosedDays(db: Database, vendorId: string, batch: readonly NumberedEvent[]) {
  const dates = [...new Set(batch.map(({ event }) => event.date))]
  const closed = await datesClosedToImports(db, vendorId, dates)
  const late = batch.filter(({ event }) => closed.has(event.date))
  const known = await rememberedIds(
    db,
    vendorId,
    late.map(({ event }) => event),
  )
  const refused = late.filter(({ event }) => !known.has(event.eventId))
  const open = batch.filter(({ event }) => !closed.has(event.date))
  return { open, refused, duplicates: late.length - refused.length }
}

async function storeWhatFits(db: Database, vendorId: string, batch: readonly NumberedEvent[]) {
  const refused: NumberedEvent[] = []
  for (let fitting = batch; ; ) {
    if (fitting.length === 0) return { accepted: 0, duplicates: 0, refused }
    try {
      const stored = await storeEvents(
        db,
        vendorId,
        fitting.map(({ event }) => event),
      )
      return { ...stored, refused }
    } catch (error) {
      if (!(error instanceof SumTooLargeError)) throw error
      const tooLarge = new Set(error.indexes)
      refused.push(...fitting.filter((_, index) => tooLarge.has(index)))
      fitting = fitting.filter((_, index) => !tooLarge.has(index))
    }
  }
}
