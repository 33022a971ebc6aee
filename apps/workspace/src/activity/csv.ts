import type { ActivityEntry } from '../api/contract.ts'
import { csvOfRows } from '../ui/csv.ts'

/** Times are in UTC, as the API answers them; `detail` is JSON. */
export const csvOfActivity = (entries: readonly ActivityEntry[]): string =>
  csvOfRows([
    ['at', 'action', 'subject', 'by', 'by_user_id', 'detail'],
    ...entries.map(({ at, action, subject, by, detail }) => [
      at,
      action,
      subject,
      by.name,
      by.userId,
      JSON.stringify(detail),
    ]),
  ])
