import type { ActivityEntry } from '../api/contract.ts'
import { toCsv } from '../ui/download.ts'

/** Times are in UTC, as in the API's answers. `detail` is JSON. */
export const activityCsv = (entries: readonly ActivityEntry[]): string =>
  toCsv([
    ['at', 'action', 'subject', 'by', 'by_user_id', 'before', 'after', 'detail', 'entry_id'],
    ...entries.map(({ at, action, subject, by, detail, entryId }) => [
      at,
      action,
      subject,
      by.name,
      by.userId,
      members(detail.before),
      members(detail.after),
      JSON.stringify(detail),
      entryId,
    ]),
  ])

/** "role: admin, status: active". */
const members = (state: unknown): string | null =>
  typeof state === 'object' && state !== null
    ? Object.entries(state)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', ')
    : null
