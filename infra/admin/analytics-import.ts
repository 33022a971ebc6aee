import { createReadStream } from 'node:fs'
import { open, rm, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Operator, record } from '#shared/accounts/activity.ts'
import { type Company, findCompany } from '#shared/accounts/people.ts'
import { createDateOf } from '#shared/analytics/calendar.ts'
import { datesClosedToImports } from '#shared/analytics/daily.ts'
import { type AnalyticsEvent, judgeEvent } from '#shared/analytics/events.ts'
import { rememberedIds, SumTooLargeError, storeEvents } from '#shared/analytics/ingest.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type EventFileFormat, type EventLine, readEvents } from './event-file.ts'
import { OperatorError } from './operator.ts'

/** Small enough for other writers of the company to wait only briefly, large enough for a million events a minute. */
const EVENTS_AT_ONCE = 5_000

export interface ImportCounts {
  /** Non-empty lines, without the header. */
  lines: number
  accepted: number
  duplicates: number
  refused: number
}

export interface ImportProgress extends ImportCounts {
  read_bytes: number
  size_bytes: number
}

export interface ImportResult extends ImportCounts {
  /** CSV of line, eventId and reason, beside the imported file; null when no line was refused. */
  refusedFile: string | null
  /** Whether the signal stopped it, so that the rest of the file was not read. */
  stopped: boolean
}

export interface ImportOptions {
  db: Database
  clock: Clock
  vendorId: string
  by: Operator
  file: string
  format: EventFileFormat
  onProgress?: (progress: ImportProgress) => void
  /** Stops the import after the current batch. */
  signal?: AbortSignal
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
export async function importEvents(options: ImportOptions): Promise<ImportResult> {
  const { db, clock, vendorId, by, file, format, onProgress, signal } = options
  const company = await findCompany(db, vendorId)
  if (!company) throw new OperatorError(`There is no company ${vendorId}.`)
  const size_bytes = await sizeOf(file)
  const refusedFile = `${file}.refused.csv`
  const refusals = await createRefusals(refusedFile)
  const counts: ImportCounts = { lines: 0, accepted: 0, duplicates: 0, refused: 0 }
  const source = createReadStream(file)
  const judge = createJudge(company, clock)
  let piece: NumberedEvent[] = []
  let storing: Promise<void> = Promise.resolve()
  let recorded = false
  let stopped = false

  async function refuse(line: number, eventId: unknown, reason: string): Promise<void> {
    counts.refused += 1
    await refusals.add(line, eventId, reason)
  }

  async function store(events: NumberedEvent[]): Promise<void> {
    const closed = await withoutClosedDays(db, vendorId, events)
    counts.duplicates += closed.duplicates
    for (const { line, event } of closed.refused) {
      await refuse(
        line,
        event.eventId,
        `the day ${event.date} has figures whose event ids are no longer all remembered`,
      )
    }
    // Before the first is stored: the import may end at any point, and leaves what it has stored.
    if (closed.open.length > 0 && !recorded) {
      await recordImport(db, { vendorId, by, file })
      recorded = true
    }
    const stored = await storeWhatFits(db, vendorId, closed.open)
    counts.accepted += stored.accepted
    counts.duplicates += stored.duplicates
    for (const { line, event } of stored.refused) {
      await refuse(line, event.eventId, 'a total of its day would exceed 9007199254740991')
    }
    onProgress?.({ ...counts, read_bytes: source.bytesRead, size_bytes })
  }

  /** Reads the next batch while one is stored. Stores one at a time, so that the first of two events with one id counts. */
  async function flush(): Promise<void> {
    await storing
    storing = store(piece)
    storing.catch(() => {})
    piece = []
  }

  try {
    for await (const lines of readEvents(source, format)) {
      for (const line of lines) {
        counts.lines += 1
        const judged = judge(line)
        if ('event' in judged) piece.push({ line: line.number, event: judged.event })
        else await refuse(line.number, judged.eventId, judged.reason)
        if (piece.length === EVENTS_AT_ONCE) await flush()
      }
      stopped = signal?.aborted ?? false
      if (stopped) break
    }
    await flush()
    await storing
    return { ...counts, refusedFile: counts.refused > 0 ? refusedFile : null, stopped }
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(
      `The import stopped: ${(error as Error).message}. What was stored is kept; run it again to store the rest.`,
      { cause: error },
    )
  } finally {
    source.destroy()
    await storing.catch(() => {})
    await refusals.close(counts.refused)
  }
}

function recordImport(
  db: Database,
  { vendorId, by, file }: Pick<ImportOptions, 'vendorId' | 'by' | 'file'>,
): Promise<void> {
  return record(db, { vendorId, by }, 'analytics.imported', vendorId, { file: basename(file) })
}

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined)
  if (!found) throw new OperatorError(`The file ${file} does not exist.`)
  if (!found.isFile()) throw new OperatorError(`${file} is not a file.`)
  return found.size
}

type Judged = { event: AnalyticsEvent } | { eventId: unknown; reason: string }

function createJudge({ timezone, currency }: Company, clock: Clock): (line: EventLine) => Judged {
  const rules = { ageMax_ms: Number.POSITIVE_INFINITY, currency, dateOf: createDateOf(timezone) }
  return (line) => {
    if ('fault' in line) return { eventId: '', reason: line.fault }
    const judged = judgeEvent(line.sent, { ...rules, now_ms: clock.now() })
    if ('event' in judged) return judged
    const eventId = (line.sent as { eventId?: unknown } | null)?.eventId
    return {
      eventId,
      reason: judged.faults.map(({ path, detail }) => [...path, detail].join(' ')).join('; '),
    }
  }
}

/** Removes the events of days that no import may add to, and tells repeats from new ones. */
async function withoutClosedDays(db: Database, vendorId: string, events: NumberedEvent[]) {
  const dates = [...new Set(events.map(({ event }) => event.date))]
  const closed = await datesClosedToImports(db, vendorId, dates)
  const late = events.filter(({ event }) => closed.has(event.date))
  const seen = await rememberedIds(
    db,
    vendorId,
    late.map(({ event }) => event),
  )
  const refused = late.filter(({ event }) => !seen.has(event.eventId))
  const open = events.filter(({ event }) => !closed.has(event.date))
  return { open, refused, duplicates: late.length - refused.length }
}

async function storeWhatFits(db: Database, vendorId: string, events: NumberedEvent[]) {
  const refused: NumberedEvent[] = []
  for (let fitting = events; ; ) {
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

interface Refusals {
  add(line: number, eventId: unknown, reason: string): Promise<void>
  /** Leaves no file if nothing was refused. */
  close(refused: number): Promise<void>
}

/** Creates the file at the start, so that a failure to create it shows early. */
async function createRefusals(file: string): Promise<Refusals> {
  const handle = await open(file, 'w').catch((error: Error) => {
    throw new OperatorError(`The list of refused lines cannot be created beside the file: ${error.message}`)
  })
  let buffered = 'line,eventId,reason\n'
  let writing: Promise<unknown> = Promise.resolve()
  const flush = async () => {
    const text = buffered
    buffered = ''
    writing = writing.then(() => handle.write(text))
    await writing
  }
  return {
    async add(line, eventId, reason) {
      buffered += `${line},${csvValue(typeof eventId === 'string' ? eventId : '')},${csvValue(reason)}\n`
      if (buffered.length > 65_536) await flush()
    },
    async close(refused) {
      await flush()
      await handle.close()
      if (refused === 0) await rm(file)
    },
  }
}

const csvValue = (text: string): string => `"${text.replaceAll('"', '""')}"`
