import type { Queryable } from '#shared/stores/postgres.ts'
import { unusableHash } from './passwords.ts'

export type Role = 'owner' | 'admin' | 'member'
export type MembershipStatus = 'active' | 'suspended'

export interface Company {
  vendorId: string
  name: string
  /** IANA name, such as Europe/Berlin. */
  timezone: string
  /** ISO 4217. */
  currency: string
}

export interface User {
  userId: string
  email: string
  name: string
}

export interface Membership {
  vendorId: string
  userId: string
  role: Role
  status: MembershipStatus
}

/** People of a company, those who are invited included. */
export const PEOPLE_MAX = 200

/** Addresses are compared and stored in lower case. */
export const normalizedEmail = (email: string): string => email.trim().toLowerCase()

export async function insertCompany(db: Queryable, company: Company): Promise<void> {
  await db.raw('insert into companies (vendor_id, name, timezone, currency) values (?, ?, ?, ?)', [
    company.vendorId,
    company.name,
    company.timezone,
    company.currency,
  ])
}

/** Returns undefined if there is no such company, or it is erased. */
export async function findCompany(db: Queryable, vendorId: string): Promise<Company | undefined> {
  const { rows } = await db.raw(
    'select vendor_id as "vendorId", name, timezone, currency from companies where vendor_id = ? and erased_at is null',
    [vendorId],
  )
  return rows[0]
}

/** All companies that are not erased, by name. */
export async function listCompanies(db: Queryable): Promise<Company[]> {
  const { rows } = await db.raw(
    'select vendor_id as "vendorId", name, timezone, currency from companies where erased_at is null order by name, vendor_id',
  )
  return rows
}

export async function insertUser(db: Queryable, user: User & { passwordHash: string }): Promise<void> {
  await db.raw('insert into users (user_id, email, name, password_hash) values (?, ?, ?, ?)', [
    user.userId,
    normalizedEmail(user.email),
    user.name,
    user.passwordHash,
  ])
}

/** An account with the hash of its password. */
export type Account = User & { passwordHash: string }

/**
 * The accounts of an address, oldest first. There may be several: whoever accepts an invitation without proving an
 * account of the address, by its password, gets one of their own. So no one reaches a company through an invitation
 * of another, and no one can keep an address from the person it belongs to by being invited first. Only accounts in
 * different companies share an address.
 */
export async function listAccounts(db: Queryable, email: string): Promise<Account[]> {
  const { rows } = await db.raw(
    `select user_id as "userId", email, name, password_hash as "passwordHash" from users where email = ?
     order by created_at, user_id`,
    [normalizedEmail(email)],
  )
  return rows
}

const MEMBERS = `select u.user_id as "userId", u.email, u.name, m.role, m.status
     from memberships m join users u using (user_id) where m.vendor_id = ?`

/** The account of an address that belongs to the company, if one does. */
export async function findMemberByEmail(
  db: Queryable,
  { vendorId, email }: { vendorId: string; email: string },
): Promise<Member | undefined> {
  const { rows } = await db.raw(`${MEMBERS} and u.email = ?`, [vendorId, normalizedEmail(email)])
  return rows[0]
}

/**
 * Starting a session holds this lock in shared mode while it checks that the password is still the one that was
 * verified; a reset holds it exclusively. So a sign-in with the old password cannot slip past a reset.
 */
const PASSWORD_LOCK = `hashtextextended('password of ' || ?, 0)`

/** Whether the user still has this password hash; until the transaction ends it cannot change. */
export async function holdPassword(
  transaction: Queryable,
  { userId, passwordHash }: { userId: string; passwordHash: string },
): Promise<boolean> {
  await transaction.raw(`select pg_advisory_xact_lock_shared(${PASSWORD_LOCK})`, [userId])
  const { rows } = await transaction.raw('select from users where user_id = ? and password_hash = ?', [
    userId,
    passwordHash,
  ])
  return rows.length === 1
}

/**
 * Sets a new password and ends every session of the user. Whoever signed in with the old one is a stranger again.
 * Call it in a transaction. Returns the sessions' ids.
 */
export async function resetPassword(
  db: Queryable,
  { userId, passwordHash }: { userId: string; passwordHash: string },
): Promise<string[]> {
  await db.raw(`select pg_advisory_xact_lock(${PASSWORD_LOCK})`, [userId])
  await db.raw('update users set password_hash = ? where user_id = ?', [passwordHash, userId])
  await forgetPlaces(db, userId)
  return endSessions(db, userId)
}

/**
 * Sets the password that the person chose in place of the one that was verified, and ends all their sessions but one.
 * Call it in a transaction. Returns the ids of the ended sessions, or undefined when the password is no longer the one that was verified.
 * @param keep the hash of the token of the session that goes on.
 */
export async function changePassword(
  transaction: Queryable,
  change: { userId: string; before: string; passwordHash: string; keep: Buffer },
): Promise<string[] | undefined> {
  const { userId, before, passwordHash, keep } = change
  await transaction.raw(`select pg_advisory_xact_lock(${PASSWORD_LOCK})`, [userId])
  const { rowCount } = await transaction.raw(
    'update users set password_hash = ? where user_id = ? and password_hash = ?',
    [passwordHash, userId, before],
  )
  if (rowCount !== 1) return undefined
  return endSessions(transaction, userId, keep)
}

/** Ends the user's sessions, but that of token hash `keep`; effective from the next request. Returns their ids. */
export async function endSessions(db: Queryable, userId: string, keep?: Buffer): Promise<string[]> {
  // An operator may not look at the hashes.
  const others = keep ? 'and token_hash <> ?' : ''
  const { rows } = await db.raw(
    `delete from sessions where user_id = ? ${others} returning session_id as "sessionId"`,
    keep ? [userId, keep] : [userId],
  )
  return rows.map(({ sessionId }: { sessionId: string }) => sessionId)
}

/**
 * Ends an account that belongs to no company any more: its sessions and its password end, and its address is free.
 * The row stays, since the activity names it. An account that is linked to an OpenID provider only loses its
 * sessions: the provider proves whose it is, and the link keeps a removed person from joining again.
 * Call it in a transaction. Returns the ids of the ended sessions.
 */
export async function endAccountWithoutCompany(transaction: Queryable, userId: string): Promise<string[]> {
  // Whoever joins another company with this account at the same time holds the lock, and is seen, or is refused.
  await transaction.raw(`select pg_advisory_xact_lock(${PASSWORD_LOCK})`, [userId])
  if ((await listMemberships(transaction, userId)).length > 0) return []
  const ended = await endSessions(transaction, userId)
  const linked = await transaction.raw('select from openid_identities where user_id = ? limit 1', [userId])
  if (linked.rows.length > 0) return ended
  await transaction.raw('update users set email = null, password_hash = ? where user_id = ?', [
    unusableHash(),
    userId,
  ])
  await forgetPlaces(transaction, userId)
  return ended
}

/** Forgets where the user has signed in from. */
async function forgetPlaces(transaction: Queryable, userId: string): Promise<void> {
  await transaction.raw('delete from sign_in_addresses where user_id = ?', [userId])
}

/** Adds the membership, or changes the role and status of an existing one. */
export async function saveMembership(
  db: Queryable,
  { vendorId, userId, role, status }: Membership,
): Promise<void> {
  await db.raw(
    `insert into memberships (vendor_id, user_id, role, status) values (?, ?, ?, ?)
     on conflict (user_id, vendor_id) do update set role = excluded.role, status = excluded.status`,
    [vendorId, userId, role, status],
  )
}

/** The companies that a user belongs to, by name. */
export async function listMemberships(
  db: Queryable,
  userId: string,
): Promise<
  (Pick<Company, 'vendorId' | 'name' | 'timezone'> &
    Pick<Membership, 'role' | 'status'> & { ownerName: string | null })[]
> {
  const { rows } = await db.raw(
    `select c.vendor_id as "vendorId", c.name, c.timezone, m.role, m.status,
       (select u.name from memberships o join users u using (user_id)
        where o.vendor_id = c.vendor_id and o.role = 'owner') as "ownerName"
     from memberships m join companies c using (vendor_id) where m.user_id = ? order by c.name, c.vendor_id`,
    [userId],
  )
  return rows
}

export type Member = User & Pick<Membership, 'role' | 'status'>

/** The people of a company: its owner, then admins, then members, each by name. */
export async function listMembers(db: Queryable, vendorId: string): Promise<Member[]> {
  const { rows } = await db.raw(
    `${MEMBERS}
     order by array_position(array['owner', 'admin', 'member'], m.role), u.name, u.user_id`,
    [vendorId],
  )
  return rows
}

/** A person of a company. Returns undefined when the company has no such person. */
export async function findMember(
  db: Queryable,
  { vendorId, userId }: { vendorId: string; userId: string },
): Promise<Member | undefined> {
  const { rows } = await db.raw(`${MEMBERS} and m.user_id = ?`, [vendorId, userId])
  return rows[0]
}

export async function deleteMembership(
  db: Queryable,
  { vendorId, userId }: { vendorId: string; userId: string },
): Promise<void> {
  await db.raw('delete from memberships where vendor_id = ? and user_id = ?', [vendorId, userId])
}

/** Until the transaction ends, no other that calls this changes the people of the company. */
export async function lockMembers(transaction: Queryable, vendorId: string): Promise<void> {
  await transaction.raw(`select pg_advisory_xact_lock(hashtextextended('people of ' || ?, 0))`, [vendorId])
}

export async function findOwner(db: Queryable, vendorId: string): Promise<User | undefined> {
  const { rows } = await db.raw(
    `select u.user_id as "userId", u.email, u.name
     from memberships m join users u using (user_id) where m.vendor_id = ? and m.role = 'owner'`,
    [vendorId],
  )
  return rows[0]
}
