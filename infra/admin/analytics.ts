import { basename } from 'node:path'
import { type Clock, systemClock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type OperatorActor, recordActivity } from '../../apps/api/accounts/activity.ts'
import type { CompanyRecord } from '../../apps/api/accounts/people.ts'
import { createDateFinder } from '../../apps/api/analytics/calendar.ts'
import { type AnalyticsEvent, checkEvent, DAY_OPEN_TO_IMPORTS_DAYS } from '../../apps/api/analytics/event.ts'
import { datesClosedToImports, findRememberedIds, storeEvents } from '../../apps/api/analytics/store.ts'
import { EXIT_INTERRUPTED, onInterruption } from '../interruption.ts'
import { createStatusLine, heartbeat } from '../progress.ts'
import {
  type CommandGroup,
  countText,
  formatCount,
  type OperatorContext,
  type Outcome,
  required,
} from './commands.ts'
import { requireCompany } from './companies.ts'
import { fileAt, LINE_MAX_BYTES, type Line, openFile, readLines } from './files.ts'
import { OperatorError } from './operator.ts'

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
  - the first event of the day was stored in the last ${DAY_OPEN_TO_IMPORTS_DAYS} days: all its ids are
    still remembered.
Events of other days are refused, so finish an import within ${DAY_OPEN_TO_IMPORTS_DAYS} days. Only this
command can change a day that the API reports as final.

Refused lines are named on standard error, with their number and the reason; all others are stored.
Ctrl-C ends the import once the batch under way is stored, and says what is.
Exit code: 0 if every line was accepted, ${EXIT_LINES_REFUSED} if some were refused, 1 if the import failed,
${EXIT_INTERRUPTED} if it was interrupted.`

export const ANALYTICS: CommandGroup = {
  name: 'analytics',
  description: 'Events and daily figures',
  commands: [
    {
      name: 'import',
      progress: null,
      description: 'Import the events of a file, whatever their age',
      example: 'analytics import history.ndjson --company ven_acme',
      args: ['file'],
      options: [required('--company <vendor_id>', 'company that the events belong to')],
      explanation: EXPLANATION,
      run: (context, { file, company }: { file: string; company: string }) =>
        runImport(context, { vendorId: company, file: fileAt(context, file) }),
    },
  ],
}

async function runImport(
  { db, by, stderr }: OperatorContext,
  source: { vendorId: string; file: string },
): Promise<Outcome> {
  const status = createStatusLine(stderr)
  const interruption = new AbortController()
  using _ = onInterruption(() => {
    if (!interruption.signal.aborted) status.print('Stopping once the batch under way is stored.')
    interruption.abort()
  })
  const began_ms = performance.now()
  let progress = { lines: 0, accepted: 0, duplicates: 0, refused: 0, read_percent: 0 }
  const importing = importEvents({
    ...{ db, by, clock: systemClock, ...source, signal: interruption.signal },
    onRefused: (line, reason) => status.print(`line ${line}: ${reason}`),
    onProgress: (counts, read_percent) => {
      progress = { ...counts, read_percent }
    },
  })
  const text = () => {
    const rate = (progress.lines * 1_000) / (performance.now() - began_ms)
    const { lines, read_percent, accepted, duplicates } = progress
    const [percent, stored, known, perSecond] = [read_percent, accepted, duplicates, rate].map(formatCount)
    return `${countText(lines, 'line')} (${percent} %): ${stored} stored, ${known} already known, ${perSecond} lines/s`
  }
  try {
    return importOutcome(await heartbeat(status.show, text, importing))
  } finally {
    status.clear()
  }
}

function importOutcome(counts: ImportCounts): Outcome {
  const { lines, accepted, duplicates, refused, interrupted } = counts
  const [stored, known, rejected] = [accepted, duplicates, refused].map(formatCount)
  const sums = `${countText(lines, 'line')}: ${stored} stored, ${known} already known, ${rejected} refused.`
  if (interrupted)
    return {
      text: `Interrupted. ${sums} Run it again to store the rest: what is stored already counts once.`,
      data: counts,
      exitCode: EXIT_INTERRUPTED,
    }
  return { text: sums, data: counts, exitCode: refused > 0 ? EXIT_LINES_REFUSED : 0 }
}

interface ImportCounts {
  /** Non-empty lines. */
  lines: number
  accepted: number
  duplicates: number
  refused: number
  /** Whether lines are left that were not stored. */
  interrupted?: true
}

export interface ImportOptions {
  db: Database
  clock: Clock
  vendorId: string
  by: OperatorActor
  file: string
  onRefused: Refuse
  /** Called with the counts so far. */
  onProgress?: (counts: ImportCounts, read_percent: number) => void
  /** Stops the import before the next batch. */
  signal?: AbortSignal
}

type Refuse = (line: number, reason: string) => void

interface NumberedEvent {
  line: number
  event: AnalyticsEvent
}

/**
 * Imports the events of a file, whatever their age, in batches that are each stored completely or not at all.
 * An invalid line is refused; the others are stored. Run again, it skips what it has stored. An event that is
 * not remembered is added only to a day whose ids are all remembered, or that has no figures yet: no event
 * can be counted twice, however late a file is imported again. If the signal is aborted, the counts are those
 * of what is stored.
 * @throws OperatorError if the file or the company is unusable (nothing was stored then), or if the database
 * fails (what was stored remains).
 */
export async function importEvents(options: ImportOptions): Promise<ImportCounts> {
  const { db, clock, vendorId, by, file, signal, onProgress = () => {} } = options
  const parseEvent = createEventParser(await requireCompany(db, vendorId), clock)
  await using handle = await openFile(file)
  const { size } = await handle.stat()
  const counts: ImportCounts = { lines: 0, accepted: 0, duplicates: 0, refused: 0 }
  const refuse: Refuse = (line, reason) => {
    counts.refused += 1
    options.onRefused(line, reason.replaceAll(/\p{C}/gu, '?').slice(0, REASON_MAX_CHARACTERS))
  }
  let isRecorded = false
  // Recorded before the first batch is stored, since an import that stops keeps what it has stored.
  async function beforeFirst() {
    if (!isRecorded)
      await recordActivity(db, { vendorId, by }, 'analytics.imported', vendorId, { file: basename(file) })
    isRecorded = true
  }
  let batch: NumberedEvent[] = []
  async function store() {
    const { accepted, duplicates } = await storeBatch(options, batch, { refuse, beforeFirst })
    counts.accepted += accepted
    counts.duplicates += duplicates
    batch = []
  }
  try {
    const stream = handle.createReadStream()
    for await (const lines of readLines(stream)) {
      for (const line of lines) {
        if (signal?.aborted) return { ...counts, lines: counts.lines - batch.length, interrupted: true }
        if (line.text?.trim() === '') continue
        counts.lines += 1
        onProgress(counts, Math.min(100, (line.end_bytes / size) * 100))
        const event = parseEvent(line)
        if (typeof event === 'string') refuse(line.number, event)
        else batch.push({ line: line.number, event })
        if (batch.length === EVENTS_AT_ONCE) await store()
      }
    }
    await store()
    return counts
  } catch (error) {
    const reason = (error as Error).message.replace(/\.$/, '')
    throw new OperatorError(
      `The import stopped: ${reason}. What was stored is kept; run it again to store the rest.`,
      { cause: error },
    )
  }
}

/** Returns a function that returns the event of a line, or why the line is refused. */
function createEventParser(
  { timezone, currency }: CompanyRecord,
  clock: Clock,
): (line: Line) => AnalyticsEvent | string {
  const rules = { ageMax_ms: Number.POSITIVE_INFINITY, currency, findDate: createDateFinder(timezone) }
  return ({ text }) => {
    if (text === undefined) return `is not UTF-8 or longer than ${LINE_MAX_BYTES} bytes`
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch {
      return 'is not JSON'
    }
    const verdict = checkEvent(json, { ...rules, now_ms: clock.now() })
    if ('event' in verdict) return verdict.event
    return verdict.faults.map(({ path, detail }) => [...path, detail].join(' ')).join('; ')
  }
}

/** Stores the events of a batch that may be stored, and refuses the others. */
async function storeBatch(
  { db, vendorId }: ImportOptions,
  batch: readonly NumberedEvent[],
  { refuse, beforeFirst }: { refuse: Refuse; beforeFirst: () => Promise<void> },
): Promise<{ accepted: number; duplicates: number }> {
  // It may have been erased since the last batch, and must not get rows that no erasure finds.
  await requireCompany(db, vendorId)
  const withoutNumbers = (events: readonly NumberedEvent[]) => events.map(({ event }) => event)
  const closedDates = await datesClosedToImports(db, vendorId, [
    ...new Set(batch.map(({ event }) => event.date)),
  ])
  const lateEvents = batch.filter(({ event }) => closedDates.has(event.date))
  const storedIds = await findRememberedIds(db, vendorId, withoutNumbers(lateEvents))
  for (const { line, event } of lateEvents)
    if (!storedIds.has(event.eventId))
      refuse(line, `the day ${event.date} has figures whose event ids are no longer all remembered`)
  const openEvents = batch.filter(({ event }) => !closedDates.has(event.date))
  const repeated = lateEvents.filter(({ event }) => storedIds.has(event.eventId)).length
  if (openEvents.length === 0) return { accepted: 0, duplicates: repeated }
  await beforeFirst()
  const { accepted, duplicates } = await storeEvents(db, vendorId, withoutNumbers(openEvents))
  return { accepted, duplicates: duplicates + repeated }
}
