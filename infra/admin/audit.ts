import type { FileHandle } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import {
  type ExportedEntry,
  findUnreadableEntryId,
  type LoggedEntry,
  listEntries,
  loggedEntry,
} from '../../apps/api/accounts/activity.ts'
import type { CommandGroup, Outcome } from './commands.ts'
import { fileAt, openFile, readLines } from './files.ts'
import { OperatorError } from './operator.ts'
import { sinceOption } from './time.ts'

const ENTRIES_AT_ONCE = 500
const ENTRIES_COMPARED_AT_ONCE = 5_000
const SHOWN_MAX = 1_000
const EXIT_DIFFERENT = 3

export const AUDIT: CommandGroup = {
  name: 'audit',
  description: 'The log of what people and operators did',
  commands: [
    {
      name: 'export',
      progress: null,
      description: 'Print the log as NDJSON, oldest entry first',
      example: 'audit export --since 2026-01-31T09:00:00Z > log.ndjson',
      options: [sinceOption('begin with the first entry from this time on')],
      async run({ db, stdout }, { since = null }: { since?: Date | null }) {
        for await (const line of exportedLines(db, since)) {
          const failure = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) =>
            stdout.write(line, resolve),
          )
          // The reader has closed the pipe, as `head` does.
          if (failure?.code === 'EPIPE') return undefined
          if (failure) throw failure
        }
        return undefined
      },
    },
    {
      name: 'compare',
      description:
        'Compare the log with the lines `activity` that were shipped elsewhere, and name the entries that ' +
        `the database lacks, has changed, or has in addition. Exits with code ${EXIT_DIFFERENT} if there are any.`,
      progress: 'Comparing',
      example: 'audit compare activity.ndjson',
      args: ['file'],
      run: (context, { file }: { file: string }) => compare(context.db, fileAt(context, file)),
    },
  ],
}

async function* exportedLines(db: Database, since: Date | null): AsyncGenerator<string> {
  for (let after: number | null = null; ; ) {
    const entries = await listEntries(db, { after, since, limit: ENTRIES_AT_ONCE })
    for (const entry of entries) yield `${JSON.stringify(entry)}\n`
    if (entries.length < ENTRIES_AT_ONCE) return
    after = entries.at(-1)?.entryId ?? after
  }
}

async function compare(db: Database, file: string): Promise<Outcome> {
  const differences: string[] = []
  let count = 0
  await using handle = await openFile(file)
  await db.transaction(async (transaction) => {
    for await (const difference of compareActivity(transaction, { file, handle }))
      if (++count <= SHOWN_MAX) differences.push(difference)
  })
  const remainder = count > SHOWN_MAX ? [`And ${count - SHOWN_MAX} more.`] : []
  return {
    text: count === 0 ? 'The database has what the file says.' : [...differences, ...remainder].join('\n'),
    data: { count, differences },
    exitCode: count === 0 ? 0 : EXIT_DIFFERENT,
  }
}

interface LogFile {
  file: string
  handle: FileHandle
}

/**
 * Yields a sentence for each entry that the database lacks, has changed, or has in addition, by the lines of
 * the log in a file, in any order. Only entries before the first line or after the last, by id and by time,
 * may lack a line. Memory grows by a few bytes a line. Call it in a transaction.
 */
async function* compareActivity(db: Queryable, source: LogFile): AsyncGenerator<string> {
  // The owner of the tables can have the operator's role look elsewhere, or hide rows from it.
  await db.raw(`set local search_path = pg_catalog, pg_temp; set local row_security = off;
    set local idle_in_transaction_session_timeout = 0 -- while it reads the file`)
  // An id with a fraction would pass for the whole number below it.
  const table = `select from pg_class join pg_attribute on attrelid = pg_class.oid
    where attrelid = 'public.activity'::regclass and relkind = 'r' and attname = 'entry_id' and atttypid = 'int8'::regtype`
  if ((await db.raw(table)).rows.length === 0)
    throw new OperatorError('public.activity is not a table whose entry_id is a bigint.')

  const unreadable = await findUnreadableEntryId(db)
  if (unreadable !== undefined) {
    yield `Entry ${unreadable} is not in the log. No entry has such a number, so the others were not compared.`
    return
  }

  const log = { firstId: Infinity, lastId: -Infinity, firstAt: '~', lastAt: '', erased: new Set<string>() }
  for await (const lines of entriesIn(source))
    for (const { entryId, at, action, subject } of lines) {
      log.firstId = Math.min(log.firstId, entryId)
      log.lastId = Math.max(log.lastId, entryId)
      if (at < log.firstAt) log.firstAt = at
      if (at > log.lastAt) log.lastAt = at
      if (action === 'person.erased' || action === 'company.erased') log.erased.add(subject)
    }
  if (log.lastId === -Infinity) throw new OperatorError(`${source.file} has no line of the activity.`)

  // A bit for each id, 32 to a number.
  const seenIds = new Map<number, number>()
  const bitsAround = (id: number) => seenIds.get(Math.floor(id / 32)) ?? 0
  for await (const lines of entriesIn(source)) {
    const ids = lines.map(({ entryId }) => entryId)
    const entries = await listEntries(db, { ids, limit: ENTRIES_COMPARED_AT_ONCE })
    const rows = Map.groupBy(entries, ({ entryId }) => entryId)
    for (const line of lines) {
      const [row, twin] = rows.get(line.entryId) ?? []
      if (row) seenIds.set(Math.floor(row.entryId / 32), bitsAround(row.entryId) | (1 << (row.entryId % 32)))
      if (!row) yield `Entry ${line.entryId} is not in the database.`
      else if (twin || !isSame(row, line, log.erased)) yield `Entry ${line.entryId} was changed.`
    }
  }
  for (let after: number | null = null, rows: ExportedEntry[] | undefined; rows?.length !== 0; ) {
    rows = await listEntries(db, { after, limit: ENTRIES_COMPARED_AT_ONCE })
    for (const { entryId, at } of rows) {
      after = entryId
      // A time that RFC 3339 cannot express is null.
      const isEarlier = entryId < log.firstId && at !== null && at < log.firstAt
      const isLater = entryId > log.lastId && at !== null && at > log.lastAt
      const isLogged = (bitsAround(entryId) & (1 << (entryId % 32))) !== 0
      if (!isEarlier && !isLater && !isLogged) yield `Entry ${entryId} is not in the log.`
    }
  }
}

function isSame(row: ExportedEntry, line: LoggedEntry, erased: Set<string>): boolean {
  const isErased = erased.has(line.subject) || erased.has(line.vendorId ?? '')
  const detail = isErased && isDeepStrictEqual(row.detail, {}) ? line.detail : row.detail
  return isDeepStrictEqual(loggedEntry({ ...row, detail }), line)
}

async function* entriesIn({ file, handle }: LogFile): AsyncGenerator<LoggedEntry[]> {
  for await (const lines of readLines(handle.createReadStream({ start: 0, autoClose: false })))
    yield lines.flatMap(({ number, text }) => {
      if (text?.includes('"event":"activity"') === false) return []
      try {
        const entry = JSON.parse(text ?? '')
        if (Number.isSafeInteger(entry.entryId)) return [loggedEntry(entry)]
      } catch {
        // The same as without an id.
      }
      throw new OperatorError(
        `Line ${number} of ${file} cannot be read, so nothing is known about its entry.`,
      )
    })
}
