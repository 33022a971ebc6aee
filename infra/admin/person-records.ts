import { findMemberByEmail, normalizedEmail } from '#shared/accounts/people.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { OperatorError } from './operator.ts'

/** Rows that one statement looks at. */
export const ROWS_A_STEP = 5_000

/** An entry of the activity, as far as it is about a person. */
interface PersonEntry {
  /** ISO 8601. */
  at: string
  vendorId: string | null
  userId: string | null
  action: string
  subject: string
  detail: { email?: unknown }
}

interface PersonInvitation {
  vendorId: string
  userId: string
  email: string
  name: string
  role: string
  createdAt: Date
  expiresAt: Date
}

/** Someone about whom something is stored. */
export interface Person {
  /** Accounts, also those that have ended, and the ids that invitations gave. */
  ids: string[]
  invitations: PersonInvitation[]
  /** What the person did, and what was done about the person; oldest first. */
  entries: PersonEntry[]
}

/** The part of the records to search: an account, an address in one company, or an address everywhere. */
interface Wanted {
  userId: string | null
  email: string | null
  vendorId: string | null
}

/**
 * Finds what belongs to an address, to `vendor_id:address` (in that company alone), or to a user id. An account that has
 * ended has no address any more, so it is found by the entries of the activity that have it.
 * @throws OperatorError if nothing is stored.
 */
export async function findPerson(db: Queryable, given: string): Promise<Person> {
  const wanted = wantedOf(given)
  const invitations = await invitationsOf(db, wanted)
  const ids = new Set([...(await accountsOf(db, wanted)), ...invitations.map(({ userId }) => userId)])
  for (;;) {
    const known = ids.size
    const entries = await entriesOf(db, wanted, [...ids])
    const named = entries.filter(({ detail }) => wanted.email !== null && detail.email === wanted.email)
    for (const { subject } of named) ids.add(subject)
    if (ids.size > known) continue
    if (wanted.userId !== null && entries.length > 0) ids.add(wanted.userId)
    if (ids.size === 0) throw new OperatorError(`Nothing is stored about ${given}.`)
    return { ids: [...ids], invitations, entries }
  }
}

function wantedOf(given: string): Wanted {
  if (/^usr_[A-Za-z0-9]{1,60}$/.test(given)) return { userId: given, email: null, vendorId: null }
  const [, vendorId = null, address = given] = /^(ven_[A-Za-z0-9]{1,60}):(.*)$/.exec(given) ?? []
  return { userId: null, email: normalizedEmail(address), vendorId }
}

async function accountsOf(db: Queryable, { userId, email, vendorId }: Wanted): Promise<string[]> {
  if (vendorId !== null && email !== null) {
    const member = await findMemberByEmail(db, { vendorId, email })
    return member ? [member.userId] : []
  }
  const { rows } = await db.raw('select user_id as "userId" from users where user_id = ? or email = ?', [
    userId,
    email,
  ])
  return rows.map((row: { userId: string }) => row.userId)
}

async function invitationsOf(
  db: Queryable,
  { userId, email, vendorId }: Wanted,
): Promise<PersonInvitation[]> {
  const { rows } = await db.raw(
    `select vendor_id as "vendorId", user_id as "userId", email, name, role, created_at as "createdAt",
       expires_at as "expiresAt"
     from invitations where (user_id = ? or email = ?) and vendor_id = coalesce(?, vendor_id) order by created_at`,
    [userId, email, vendorId],
  )
  return rows
}

/** Looks at the whole activity, since nothing finds an address there faster. */
async function entriesOf(
  db: Queryable,
  { userId, email, vendorId }: Wanted,
  ids: string[],
): Promise<PersonEntry[]> {
  const about = userId === null ? ids : [...ids, userId]
  const found: PersonEntry[] = []
  const next = async (after: number): Promise<number | null> => {
    const { rows } = await db.raw(
      `with step as materialized (
         select entry_id, at, vendor_id, user_id, action, subject, detail from activity
         where entry_id > ? order by entry_id limit ${ROWS_A_STEP})
       select (select max(entry_id) from step) as last, coalesce(jsonb_agg(jsonb_build_object('at', at,
           'vendorId', vendor_id, 'userId', user_id, 'action', action, 'subject', subject, 'detail', detail)
         order by entry_id) filter (where vendor_id is not distinct from coalesce(?, vendor_id)
           and (user_id = any(?) or subject = any(?) or detail->>'email' = ?)), '[]') as entries from step`,
      [after, vendorId, about, about, email] as never,
    )
    for (const entry of rows[0].entries) found.push(entry)
    return rows[0].last
  }
  for (let after: number | null = 0; after !== null; ) after = await next(after)
  return found
}

/** What each table has of an account. Nothing that opens anything: neither a token nor the hash of one. */
const OF_ACCOUNT = {
  memberships: `select vendor_id as "vendorId", name as company, role, status
    from memberships join companies using (vendor_id) where user_id = ?`,
  sessions: `select session_id as "sessionId", created_at as "createdAt", last_seen_at as "lastSeenAt",
      expires_at as "expiresAt", authenticated_at as "authenticatedAt", address, user_agent as "userAgent",
      openid_issuer as "openidIssuer", openid_sid as "openidSession" from sessions where user_id = ?`,
  signInPlaces: `select case when starts_with(address, 'browser:') then 'a browser' else address end as place,
      last_at as "lastAt" from sign_in_addresses where user_id = ?`,
  openidIdentities: `select issuer, subject, created_at as "createdAt" from openid_identities where user_id = ?`,
  clientsCreated: `select vendor_id as "vendorId", client_id as "clientId", name, created_at as at
    from oauth_clients where created_by = ?`,
  clientsRevoked: `select vendor_id as "vendorId", client_id as "clientId", name, revoked_at as at
    from oauth_clients where revoked_by = ?`,
  revocationsArmed: `select client_id as "clientId", armed_at as at from client_rotation where armed_by = ?`,
  callbacksSaved: `select vendor_id as "vendorId", updated_at as at from callback_destinations where updated_by = ?`,
  idempotencyKeys: `select vendor_id as "vendorId", idempotency_key as key, client_id as "clientId", created_at as at
    from client_creation_keys where user_id = ?`,
} as const

/**
 * Everything that is stored about a person, for that person. Of an entry about someone else it has no details, and of
 * one by someone else not who that was.
 */
export async function exportPerson(db: Queryable, { ids, invitations, entries }: Person) {
  const { rows: accounts } = await db.raw(
    `select user_id as "userId", email, name, created_at as "createdAt" from users where user_id = any(?)
     order by created_at`,
    [ids] as never,
  )
  for (const account of accounts)
    for (const [what, sql] of Object.entries(OF_ACCOUNT))
      account[what] = (await db.raw(sql, [account.userId])).rows
  const activity = entries.map(({ userId, subject, detail, ...entry }) => ({
    ...entry,
    byThisPerson: userId !== null && ids.includes(userId),
    subject,
    ...(ids.includes(subject) && { detail }),
  }))
  return { accounts, invitations, activity }
}
