import type { ProvenEntry } from '../api/activity.ts'
import { csvOfRows } from '../ui/csv.ts'

/**
 * Times are in UTC, as the API answers them; `detail` is JSON. `log` proves that the head covers the entry, which is
 * on the first row that it holds for. /docs/activity says how to check it.
 */
export const csvOfActivity = (entries: readonly ProvenEntry[]): string =>
  csvOfRows([
    ['at', 'action', 'subject', 'by', 'by_user_id', 'before', 'after', 'detail', 'entry_id', 'log', 'head'],
    ...entries.map(({ at, action, subject, by, detail, entryId, log, head }, row) => [
      at,
      action,
      subject,
      by.name,
      by.userId,
      members(detail.before),
      members(detail.after),
      JSON.stringify(detail),
      entryId,
      log && head ? placeIn(log, head.treeSize) : null,
      head && head !== entries[row - 1]?.head ? (head.signed ?? head.rootHash) : null,
    ]),
  ])

/** Begins with a digit, so no spreadsheet takes it for a formula. */
const placeIn = (
  { index, salt, detailHash, operatorHash, proof }: NonNullable<ProvenEntry['log']>,
  treeSize: number,
): string => [index, treeSize, salt, detailHash, operatorHash, proof].join('/')

/** "role: admin, status: active". */
const members = (state: unknown): string | null =>
  typeof state === 'object' && state !== null
    ? Object.entries(state)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', ')
    : null
