import { FENCED } from '#shared/revocation/fence.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/* The table of sessions. */

/** The person behind a session token. */
export interface SessionState {
  /** Identifies the session to its user. It does not work as a token. */
  sessionId: string
  userId: string
  name: string
  email: string
  /** SHA-256 of the session token. */
  tokenHash: Buffer
  expiresAt: Date
  /** When the person last proved who they are. */
  authenticatedAt: Date
  /** The OpenID provider that began the session; null if none did. */
  openidIssuer: string | null
}

/** A session lasts this long from its start; use does not extend it. */
export const SESSION_LIFETIME_S = 12 * 3_600
export const SESSION_ID_PATTERN = /^sid_[0-9a-f]{32}$/
/** How precisely the last use of a session is recorded. */
export const SEEN_EVERY_MS = 60_000
const USER_AGENT_MAX_CHARACTERS = 200

interface SessionRecord extends Omit<SessionState, 'tokenHash'> {
  lastSeenAt: Date
  /** The database may predate the session's end or its user's suspension. */
  fenced: boolean
}

interface SessionStart {
  tokenHash: Buffer
  userId: string
  now: Date
  /** Default: `now`. */
  authenticatedAt?: Date | undefined
  /** The OpenID provider that the person signed in with, if any. */
  openidIssuer?: string | undefined
  address?: string
  userAgent?: string
}

/** Call it in the transaction that admits the user. Returns the session's id. */
export async function insertSession(transaction: Queryable, session: SessionStart): Promise<string> {
  const { now } = session
  const { rows } = await transaction.raw(
    `insert into sessions (token_hash, user_id, created_at, last_seen_at, expires_at, authenticated_at,
       address, user_agent, openid_issuer)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning session_id as "sessionId"`,
    [
      session.tokenHash,
      session.userId,
      now,
      now,
      new Date(now.getTime() + SESSION_LIFETIME_S * 1_000),
      session.authenticatedAt ?? null,
      session.address ?? null,
      session.userAgent?.replaceAll('\0', '').slice(0, USER_AGENT_MAX_CHARACTERS) ?? null,
      session.openidIssuer ?? null,
    ],
  )
  return rows[0].sessionId
}

/** A session last seen further ahead than the idle limit has ended too: the clock was set back. */
const IN_USE = 'last_seen_at > ? and last_seen_at < ?'
const inUse = (now: Date, idle_ms: number): Date[] =>
  [-idle_ms, idle_ms].map((offset_ms) => new Date(now.getTime() + offset_ms))

/** Returns the live session and its user, or undefined. */
export async function findSession(
  db: Queryable,
  { tokenHash, now, idle_ms }: { tokenHash: Buffer; now: Date; idle_ms: number },
): Promise<SessionRecord | undefined> {
  const { rows } = await db.raw(
    `select s.session_id as "sessionId", s.user_id as "userId", u.name, u.email, s.expires_at as "expiresAt",
       s.last_seen_at as "lastSeenAt", coalesce(s.authenticated_at, s.created_at) as "authenticatedAt",
       s.openid_issuer as "openidIssuer", ${FENCED} as fenced
     from sessions s join users u using (user_id)
     where s.token_hash = ? and s.expires_at > ? and ${IN_USE}`,
    [tokenHash, now, ...inUse(now, idle_ms)],
  )
  return rows[0]
}

export async function touchSession(
  db: Queryable,
  { tokenHash, now }: { tokenHash: Buffer; now: Date },
): Promise<void> {
  await db.raw('update sessions set last_seen_at = greatest(last_seen_at, ?) where token_hash = ?', [
    now,
    tokenHash,
  ])
}

export interface SessionListing {
  sessionId: string
  createdAt: Date
  lastSeenAt: Date
  address: string | null
  userAgent: string | null
  /** `createdAt` to the microsecond: with the id, its place in the list. */
  position: string
}

/** Returns a user's live sessions, newest first. */
export async function listSessions(
  db: Queryable,
  query: {
    userId: string
    now: Date
    idle_ms: number
    after: { position: string; sessionId: string } | undefined
    limit: number
  },
): Promise<SessionListing[]> {
  const { userId, now, after, limit, idle_ms } = query
  const { rows } = await db.raw(
    `select session_id as "sessionId", created_at as "createdAt", last_seen_at as "lastSeenAt", address,
       user_agent as "userAgent",
       to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as position
     from sessions where user_id = ? and expires_at > ? and ${IN_USE}
       ${after ? 'and (created_at, session_id) < (?::timestamptz, ?)' : ''}
     order by created_at desc, session_id desc limit ?`,
    [userId, now, ...inUse(now, idle_ms), ...(after ? [after.position, after.sessionId] : []), limit],
  )
  return rows
}

/** Returns whether the user had such a session. */
export async function deleteUserSession(
  db: Queryable,
  { userId, sessionId }: { userId: string; sessionId: string },
): Promise<boolean> {
  const { rowCount } = await db.raw('delete from sessions where user_id = ? and session_id = ?', [
    userId,
    sessionId,
  ])
  return rowCount === 1
}

/** Returns the ended session; undefined if there was none. Of two concurrent requests, only one gets it. */
export async function deleteSession(
  db: Queryable,
  tokenHash: Buffer,
): Promise<{ userId: string; sessionId: string } | undefined> {
  const { rows } = await db.raw(
    'delete from sessions where token_hash = ? returning user_id as "userId", session_id as "sessionId"',
    [tokenHash],
  )
  return rows[0]
}

/** Ends the user's sessions, except the one of token hash `keep`. Returns their ids. */
export async function deleteSessions(db: Queryable, userId: string, keep?: Buffer): Promise<string[]> {
  // The operator's role may not read the hashes.
  const others = keep ? 'and token_hash <> ?' : ''
  const { rows } = await db.raw(
    `delete from sessions where user_id = ? ${others} returning session_id as "sessionId"`,
    keep ? [userId, keep] : [userId],
  )
  return rows.map(({ sessionId }: { sessionId: string }) => sessionId)
}
