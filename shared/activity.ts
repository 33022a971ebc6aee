import type { Queryable } from './postgres.ts'

export type ActivityAction = 'client.created' | 'client.revoked' | 'callback.saved'

export interface ActivityEntry {
  vendorId: string
  /** null: an operator, by the admin command. */
  userId: string | null
  action: ActivityAction
  /** The id of the client, or the host of the callback. */
  subject: string
  detail?: Record<string, unknown>
}

/** Appends an entry; call it in the transaction of the change that it tells of. */
export async function appendActivity(db: Queryable, entry: ActivityEntry): Promise<void> {
  await db.raw('insert into activity (vendor_id, user_id, action, subject, detail) values (?, ?, ?, ?, ?)', [
    entry.vendorId,
    entry.userId,
    entry.action,
    entry.subject,
    JSON.stringify(entry.detail ?? {}),
  ])
}
