import type { ActivityEntry } from '../api/contract.ts'
import { csvOfRows } from '../ui/csv.ts'

/** Times are in UTC, as the API answers them; `detail` is JSON. */
export const csvOfActivity = (entries: readonly ActivityEntry[]): string =>
  csvOfRows([
    ['at', 'action', 'subject', 'by', 'by_user_id', 'before', 'after', 'detail'],
    ...entries.map(({ at, action, subject, by, detail }) => [
      at,
      action,
      subject,
      by.name,
      by.userId,
      members(detail.before),
      members(detail.after),
      JSON.stringify(detail),
    ]),
  ])

/** "role: admin, status: active". */
const members = (state: unknown): string | null =>
  typeof state === 'object' && state !== null
    ? Object.entries(state)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', ')
    : null
