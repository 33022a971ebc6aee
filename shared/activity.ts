import type { Queryable } from '#shared/stores/postgres.ts'

export const ACTIVITY_ACTIONS = [
  'client.created',
  'client.renamed',
  'client.revoked',
  'callback.saved',
  'company.created',
  'person.added',
  'person.invited',
  'person.joined',
  'person.changed',
  'person.linked',
  'person.unlinked',
  'person.removed',
  'invitation.withdrawn',
] as const
export type ActivityAction = (typeof ACTIVITY_ACTIONS)[number]

export interface ActivityEntry {
  vendorId: string
  /** null: an operator, by the admin command. */
  userId: string | null
  action: ActivityAction
  /** The id of the client, person or company, or the host of the callback. */
  subject: string
  detail?: Record<string, unknown>
}

/** Appends an entry; call it in the transaction of the change that it records. */
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

export interface ActivityFilter {
  /** null: what operators did. */
  userId?: string | null | undefined
  action?: ActivityAction | undefined
  subject?: string | undefined
  /** From this time on. */
  from?: Date | undefined
  /** Before this time. */
  to?: Date | undefined
}

/** Entries of one company, newest first, from the one before `before` on. */
export async function listActivity(
  db: Queryable,
  {
    vendorId,
    before = Number.MAX_SAFE_INTEGER,
    limit,
    userId,
    action,
    subject,
    from,
    to,
  }: ActivityFilter & { vendorId: string; before: number | undefined; limit: number },
): Promise<ActivityRecord[]> {
  const conditions: [sql: string, value: unknown][] = [
    ['a.vendor_id = ?', vendorId],
    ['a.entry_id < ?', before],
  ]
  if (userId !== undefined) conditions.push(['a.user_id is not distinct from ?', userId])
  if (action !== undefined) conditions.push(['a.action = ?', action])
  if (subject !== undefined) conditions.push(['a.subject = ?', subject])
  if (from !== undefined) conditions.push(['a.at >= ?', from])
  if (to !== undefined) conditions.push(['a.at < ?', to])
  const { rows } = await db.raw(
    `select a.entry_id as "entryId", a.at, a.action, a.subject, a.detail, a.user_id as "userId", u.name as "userName"
     from activity a left join users u using (user_id)
     where ${conditions.map(([sql]) => sql).join(' and ')} order by a.entry_id desc limit ?`,
    [...conditions.map(([, value]) => value as string), limit],
  )
  return rows
}
