import { holdPassword } from '#shared/people.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'

/** A session lasts this long from its beginning; use does not extend it. */
export const SESSION_LIFETIME_S = 12 * 3_600

export interface SessionRecord {
  userId: string
  name: string
  email: string
  expiresAt: Date
}

export async function insertSession(
  db: Queryable,
  session: { tokenHash: Buffer; userId: string; createdAt: Date; expiresAt: Date },
): Promise<void> {
  await db.raw('insert into sessions (token_hash, user_id, created_at, expires_at) values (?, ?, ?, ?)', [
    session.tokenHash,
    session.userId,
    session.createdAt,
    session.expiresAt,
  ])
}

/**
 * Begins a session for someone whose password was right a moment ago.
 * @returns undefined when the password has been changed since, and no session was begun.
 */
export async function startSession(
  db: Database,
  { tokenHash, user, now }: { tokenHash: Buffer; user: { userId: string; passwordHash: string }; now: Date },
): Promise<{ expiresAt: Date } | undefined> {
  const { userId } = user
  const expiresAt = new Date(now.getTime() + SESSION_LIFETIME_S * 1_000)
  return db.transaction(async (transaction) => {
    if (!(await holdPassword(transaction, user))) return undefined
    await insertSession(transaction, { tokenHash, userId, createdAt: now, expiresAt })
    return { expiresAt }
  })
}

/** @returns the live session and its user, or undefined. */
export async function findSession(
  db: Queryable,
  { tokenHash, now }: { tokenHash: Buffer; now: Date },
): Promise<SessionRecord | undefined> {
  const { rows } = await db.raw(
    `select s.user_id as "userId", u.name, u.email, s.expires_at as "expiresAt"
     from sessions s join users u using (user_id) where s.token_hash = ? and s.expires_at > ?`,
    [tokenHash, now],
  )
  return rows[0]
}

export async function deleteSession(db: Queryable, tokenHash: Buffer): Promise<void> {
  await db.raw('delete from sessions where token_hash = ?', [tokenHash])
}

/** Removes at most `limit` expired sessions. @returns how many. */
export async function deleteExpiredSessions(
  db: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<number> {
  const { rowCount } = await db.raw(
    `delete from sessions where token_hash in
       (select token_hash from sessions where expires_at <= ? order by expires_at limit ?)`,
    [now, limit],
  )
  return rowCount
}
