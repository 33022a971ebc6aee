import type { Queryable } from '#shared/stores/postgres.ts'

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

export interface ActivityRecord {
  entryId: number
  at: Date
  action: ActivityAction
  subject: string
  detail: Record<string, unknown>
  /** null: an operator. */
  userId: string | null
  userName: string | null
}

/** Entries of one company, newest first, from the one before `before` on. */
export async function listActivity(
  db: Queryable,
  { vendorId, before, limit }: { vendorId: string; before: number | undefined; limit: number },
): Promise<ActivityRecord[]> {
  const { rows } = await db.raw(
    `select a.entry_id as "entryId", a.at, a.action, a.subject, a.detail, a.user_id as "userId", u.name as "userName"
     from activity a left join users u using (user_id)
     where a.vendor_id = ? and a.entry_id < ? order by a.entry_id desc limit ?`,
    [vendorId, before ?? Number.MAX_SAFE_INTEGER, limit],
  )
  return rows
}
