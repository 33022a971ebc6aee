import { isDeepStrictEqual } from 'node:util'
import { bindings, type Queryable } from '#shared/stores/postgres.ts'
import { unusableHash } from './passwords.ts'

/* The tables of companies, users and memberships. */

/** In the order of lists, which is that of rights. */
export const COMPANY_ROLES = ['owner', 'admin', 'viewer', 'member'] as const
export type CompanyRole = (typeof COMPANY_ROLES)[number]
/** While they are active, people with these manage the company. */
export const MANAGER_ROLES: readonly CompanyRole[] = ['owner', 'admin']
/** A person becomes the owner only when the present one hands over. */
export const ASSIGNABLE_ROLES = ['admin', 'viewer', 'member'] as const satisfies readonly CompanyRole[]
export type AssignableRole = (typeof ASSIGNABLE_ROLES)[number]
export type MembershipStatus = 'active' | 'suspended'

export interface CompanyRecord {
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
  role: CompanyRole
  status: MembershipStatus
}

/** People of a company, those who are invited included. */
export const PEOPLE_MAX = 200

/** Addresses are compared and stored in lower case. */
export const normalizedEmail = (email: string): string => email.trim().toLowerCase()

export async function insertCompany(db: Queryable, company: CompanyRecord): Promise<void> {
  const values = '(:vendorId, :name, :timezone, :currency)'
  await db.raw(`insert into companies (vendor_id, name, timezone, currency) values ${values}`, { ...company })
}

/** Returns undefined if there is no such company, or it is erased. */
export async function findCompany(db: Queryable, vendorId: string): Promise<CompanyRecord | undefined> {
  const { rows } = await db.raw(
    `select vendor_id as "vendorId", name, timezone, currency from companies
     where vendor_id = ? and erased_at is null`,
    [vendorId],
  )
  return rows[0]
}

/** Returns all companies that are not erased, by name. */
export async function listCompanies(db: Queryable): Promise<CompanyRecord[]> {
  const { rows } = await db.raw(
    `select vendor_id as "vendorId", name, timezone, currency from companies
     where erased_at is null order by name, vendor_id`,
  )
  return rows
}

export async function insertUser(db: Queryable, user: User & { passwordHash: string }): Promise<void> {
  const sql =
    'insert into users (user_id, email, name, password_hash) values (:userId, :email, :name, :passwordHash)'
  await db.raw(sql, { ...user, email: normalizedEmail(user.email) })
}

/** An account with the hash of its password. */
export type Account = User & { passwordHash: string }

/**
 * Returns the accounts of an address, oldest first. There may be several: whoever accepts an invitation
 * by a copied link without the password of an account gets a new one. So no one reaches a company through an
 * invitation to another, and no one can keep an address from its owner by being invited first. Accounts that
 * share an address belong to different companies.
 */
export async function listAccounts(db: Queryable, email: string): Promise<Account[]> {
  const { rows } = await db.raw(
    `select user_id as "userId", email, name, password_hash as "passwordHash" from users where email = ?
     order by created_at, user_id`,
    [normalizedEmail(email)],
  )
  return rows
}

/**
 * Returns whether an address still has the accounts that a new password was compared with. Until the
 * transaction ends, no other account with a password is added, and no one chooses a new password for one.
 * Lock companies before an address, accounts after it.
 */
export async function lockAddress(
  transaction: Queryable,
  email: string,
  accounts: readonly Account[],
): Promise<boolean> {
  const address = normalizedEmail(email)
  await transaction.raw(`select pg_advisory_xact_lock(hashtextextended('accounts of ' || ?, 0))`, [address])
  return isDeepStrictEqual(await listAccounts(transaction, address), accounts)
}

/** Returns undefined if there is no such account, or it is closed. */
export async function findUser(db: Queryable, userId: string): Promise<User | undefined> {
  const { rows } = await db.raw(
    'select user_id as "userId", email, name from users where user_id = ? and email is not null',
    [userId],
  )
  return rows[0]
}

const MEMBERS = `select u.user_id as "userId", u.email, u.name, m.role, m.status
     from memberships m join users u using (user_id) where m.vendor_id = ?`

/** Returns the company's member with this address, if there is one. */
export async function findMemberByEmail(
  db: Queryable,
  { vendorId, email }: { vendorId: string; email: string },
): Promise<Member | undefined> {
  const { rows } = await db.raw(`${MEMBERS} and u.email = ?`, [vendorId, normalizedEmail(email)])
  return rows[0]
}

/**
 * Starting a session holds this lock in shared mode while it checks that the password is still the one that
 * was verified. A change holds it exclusively. So a sign-in with the old password cannot slip past a change.
 */
const PASSWORD_LOCK = `hashtextextended('password of ' || ?, 0)`

/** Returns whether the user still has this password hash. It cannot change until the transaction ends. */
export async function lockPassword(
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
 * Sets a new password, if the user still has the hash `before`. Call it in a transaction that then ends the
 * sessions of the old one. Returns whether it was set.
 * @param before default: any.
 */
export async function savePassword(
  transaction: Queryable,
  { userId, before, passwordHash }: { userId: string; before?: string; passwordHash: string },
): Promise<boolean> {
  await lockAccount(transaction, userId)
  const condition = before === undefined ? '' : 'and password_hash = ?'
  const { rowCount } = await transaction.raw(
    `update users set password_hash = ? where user_id = ? ${condition}`,
    before === undefined ? [passwordHash, userId] : [passwordHash, userId, before],
  )
  return rowCount === 1
}

/** No one else changes the password, or starts a session with it, until the transaction ends. */
export async function lockAccount(transaction: Queryable, userId: string): Promise<void> {
  await transaction.raw(`select pg_advisory_xact_lock(${PASSWORD_LOCK})`, [userId])
}

/** Frees an account's address and ends its password. The row stays, since the activity names it. */
export async function closeAccount(transaction: Queryable, userId: string): Promise<void> {
  await transaction.raw('update users set email = null, password_hash = ? where user_id = ?', [
    unusableHash(),
    userId,
  ])
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

/** Returns the companies that a user belongs to, by name. */
export async function listMemberships(
  db: Queryable,
  userId: string,
): Promise<
  (Pick<CompanyRecord, 'vendorId' | 'name' | 'timezone'> &
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

/** Returns the people of a company: by role and name. */
export async function listMembers(db: Queryable, vendorId: string): Promise<Member[]> {
  const { rows } = await db.raw(
    `${MEMBERS}
     order by array_position(?::text[], m.role), u.name, u.user_id`,
    bindings([vendorId, COMPANY_ROLES]),
  )
  return rows
}

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

/** Keeps other callers from changing the people of the company until the transaction ends. */
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
