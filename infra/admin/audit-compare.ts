import { createReadStream } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Queryable } from '#shared/stores/postgres.ts'
import {
  type ExportedEntry,
  type LoggedEntry,
  listEntries,
  loggedEntry,
} from '../../apps/api/accounts/activity.ts'
import { readLines } from './lines.ts'
import { OperatorError } from './operator.ts'

const ROWS_AT_ONCE = 5_000

/**
 * Yields a sentence for each entry that the database lacks, has changed, or has in addition, by the lines of the log in
 * `file`, in any order. It covers what lies between the first line and the last, by id or by time. Memory grows by a few
 * bytes a line. Call it in a transaction.
 */
export async function* compareActivity(db: Queryable, file: string): AsyncGenerator<string> {
  // The owner of the tables can have the operator's role look elsewhere, or hide rows from it.
  await db.raw('set local search_path = pg_catalog, pg_temp; set local row_security = off')
  const table = `select from pg_class where oid = 'public.activity'::regclass and relkind = 'r'`
  if ((await db.raw(table)).rows.length === 0) throw new OperatorError('public.activity is not a table.')

  const log = { firstId: Infinity, lastId: 0, firstAt: '~', lastAt: '', erased: new Set<string>() }
  for await (const lines of linesOf(file))
    for (const { entryId, at, action, subject } of lines) {
      log.firstId = Math.min(log.firstId, entryId)
      log.lastId = Math.max(log.lastId, entryId)
      if (at < log.firstAt) log.firstAt = at
      if (at > log.lastAt) log.lastAt = at
      if (action === 'person.erased' || action === 'company.erased') log.erased.add(subject)
    }
  if (log.lastId === 0) throw new OperatorError(`${file} has no line of the activity.`)

  // A bit for each id, 32 to a number.
  const known = new Map<number, number>()
  const knownAround = (id: number) => known.get(Math.floor(id / 32)) ?? 0
  for await (const lines of linesOf(file)) {
    const ids = lines.map(({ entryId }) => entryId)
    const rows = Map.groupBy(await listEntries(db, { ids, limit: ROWS_AT_ONCE }), ({ entryId }) => entryId)
    for (const line of lines) {
      const [row, twin] = rows.get(line.entryId) ?? []
      if (row) known.set(Math.floor(row.entryId / 32), knownAround(row.entryId) | (1 << (row.entryId % 32)))
      if (!row) yield `${line.entryId} is not in the database.`
      else if (twin || !isSame(row, line, log.erased)) yield `${line.entryId} was changed.`
    }
  }
  for (let after = 0, rows: ExportedEntry[] | undefined; rows?.length !== 0; ) {
    rows = await listEntries(db, { after, limit: ROWS_AT_ONCE })
    for (const { entryId, at } of rows) {
      after = entryId
      const isCovered =
        (entryId >= log.firstId && entryId <= log.lastId) || (at >= log.firstAt && at <= log.lastAt)
      if (isCovered && !(knownAround(entryId) & (1 << (entryId % 32)))) yield `${entryId} is not in the log.`
    }
  }
}

function isSame(row: ExportedEntry, line: LoggedEntry, erased: Set<string>): boolean {
  const isErased = erased.has(line.subject) || erased.has(line.vendorId ?? '')
  const detail = isErased && isDeepStrictEqual(row.detail, {}) ? line.detail : row.detail
  return isDeepStrictEqual(loggedEntry({ ...row, detail }), line)
}

async function* linesOf(file: string): AsyncGenerator<LoggedEntry[]> {
  for await (const lines of readLines(createReadStream(file)))
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
