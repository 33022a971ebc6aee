import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { type ActivityAction, type Operator, record } from '../../apps/api/accounts/activity.ts'
import { newUserId, newVendorId } from '../../apps/api/accounts/new-ids.ts'
import { isLinked, removeIdentities } from '../../apps/api/accounts/openid-identities.ts'
import { hashPassword } from '../../apps/api/accounts/passwords.ts'
import {
  type Account,
  type Company,
  endAccountWithoutCompany,
  endSessions,
  findCompany,
  findMemberByEmail,
  holdPassword,
  insertCompany,
  insertUser,
  listAccounts,
  listMemberships,
  lockMembers,
  type Member,
  type MembershipStatus,
  normalizedEmail,
  type Role,
  resetPassword,
  type User,
} from '../../apps/api/accounts/people.ts'
import { addPerson, changePerson } from '../../apps/api/people/changes.ts'
import { knowEverywhere } from '../../apps/api/sessions/sign-in-addresses.ts'
import { sqlState, UNIQUE_VIOLATION } from '../../apps/api/stores/postgres-errors.ts'
import { OperatorError } from './operator.ts'

const EMAIL = /^[^\s@]+@[^\s@]+$/
const EMAIL_MAX_CHARACTERS = 254
const NAME_MAX_CHARACTERS = 200

/** A person to add, with or without an account. */
export interface NewPerson {
  email: string
  /** Required only for a new account. */
  name: string | undefined
  /** Called only for a new account, so that no one types a password that is not used. */
  password: () => Promise<string>
  /**
   * What to do if the address has an account: an invitation never proved whose address it is. undefined: nothing, and
   * say so.
   */
  account: 'existing' | 'new' | undefined
}

export interface NewCompany {
  /** Random if undefined. */
  vendorId: string | undefined
  name: string
  timezone: string
  currency: string
  owner: NewPerson
  by: Operator
}

/** @throws OperatorError if a value is invalid or the vendor id is taken. */
export async function createCompany(
  db: Database,
  { vendorId = newVendorId(), name, timezone, currency, owner, by }: NewCompany,
): Promise<{ company: Company; owner: Member }> {
  if (!VENDOR_ID_PATTERN.test(vendorId))
    throw new OperatorError('A vendor id is ven_ followed by 1 to 60 letters and digits, such as ven_acme.')
  const company = {
    vendorId,
    name: checkedName(name),
    timezone: knownTimezone(timezone),
    currency: knownCurrency(currency),
  }
  const taken = new OperatorError(`The company ${vendorId} already exists.`)
  if (await findCompany(db, vendorId)) throw taken
  const person = await preparePerson(db, owner)
  await db.transaction(async (transaction) => {
    await insertCompany(transaction, company).catch((error) => {
      throw sqlState(error) === UNIQUE_VIOLATION ? taken : error
    })
    await person.store(transaction)
    await record(transaction, { vendorId, by }, 'company.created', vendorId, { name: company.name })
    await addPerson(transaction, { vendorId, user: person.user, role: 'owner', by })
  })
  return { company, owner: { ...person.user, role: 'owner', status: 'active' } }
}

/** @throws OperatorError if there is no such company, or the person already belongs to it. */
export async function addMember(
  db: Database,
  membership: { vendorId: string; role: 'admin' | 'member'; person: NewPerson; by: Operator },
): Promise<Member> {
  const { vendorId, role, person: given, by } = membership
  await requireCompany(db, vendorId)
  const refuseMember = async (queryable: Queryable, { email }: Pick<User, 'email'>) => {
    if (await findMemberByEmail(queryable, { vendorId, email }))
      throw new OperatorError(`${normalizedEmail(email)} already belongs to ${vendorId}.`)
  }
  await refuseMember(db, given)
  const person = await preparePerson(db, given)
  await db.transaction(async (transaction) => {
    await lockMembers(transaction, vendorId)
    await refuseMember(transaction, person.user)
    await person.store(transaction)
    await addPerson(transaction, { vendorId, user: person.user, role, by })
  })
  return { ...person.user, role, status: 'active' }
}

export interface MemberChange {
  vendorId: string
  email: string
  /** A new owner makes the current one an admin. */
  role?: Role
  status?: MembershipStatus
  by: Operator
}

/** @throws OperatorError if the company has no such member, or would have no active owner. */
export function changeMember(
  db: Database,
  { vendorId, email, by, ...change }: MemberChange,
): Promise<{ member: Member; formerOwner: User | undefined }> {
  return db.transaction(async (transaction) => {
    // So that what is checked still holds when the change is made.
    await lockMembers(transaction, vendorId)
    await requireCompany(transaction, vendorId)
    const member = await findMemberByEmail(transaction, { vendorId, email })
    if (!member) throw new OperatorError(`${normalizedEmail(email)} does not belong to ${vendorId}.`)
    const outcome = await changePerson(transaction, { vendorId, userId: member.userId, ...change, by })
    if (typeof outcome !== 'string') return outcome
    throw new OperatorError(
      `${vendorId} must have an active owner: make another active member the owner first.`,
    )
  })
}

/** Also ends every session of the user. @throws OperatorError unless there is exactly one such account. */
export async function replacePassword(
  db: Database,
  { email, password, by }: { email: string; password: () => Promise<string>; by: Operator },
): Promise<User> {
  const user = await requireAccount(db, email)
  const passwordHash = await hashPassword(await password(), { like: user.passwordHash })
  await db.transaction(async (transaction) => {
    await resetPassword(transaction, { userId: user.userId, passwordHash })
    // Also for someone whom the guesses of strangers kept out.
    await knowEverywhere(transaction, { userId: user.userId, now: new Date() })
    await recordForCompanies(transaction, { user, action: 'person.password_reset', by })
  })
  return shownUser(user)
}

/** Records the act in the activity of each of the user's companies, or without a company if there is none. */
async function recordForCompanies(
  transaction: Queryable,
  { user, action, by }: { user: User; action: ActivityAction; by: Operator },
): Promise<void> {
  const { userId, name, email } = user
  const vendorIds = (await listMemberships(transaction, userId)).map(({ vendorId }) => vendorId).sort()
  for (const vendorId of vendorIds.length > 0 ? vendorIds : [null])
    await record(transaction, { vendorId, by }, action, userId, { name, email })
}

/**
 * Unlinks the account from its OpenID provider, and ends every session of the user.
 * @throws OperatorError unless there is exactly one such account, or if it is not linked.
 */
export async function unlinkMember(
  db: Database,
  { email, by }: { email: string; by: Operator },
): Promise<User> {
  return db.transaction(async (transaction) => {
    const user = await requireAccount(transaction, email)
    const { userId } = user
    const vendorIds = (await listMemberships(transaction, userId)).map(({ vendorId }) => vendorId).sort()
    // A sign-in holds this lock too, so one in progress has created its session before the sessions are ended.
    for (const vendorId of vendorIds) await lockMembers(transaction, vendorId)
    if (!(await removeIdentities(transaction, userId)))
      throw new OperatorError(`${user.email} is not linked to an OpenID provider.`)
    await endSessions(transaction, userId)
    await endAccountWithoutCompany(transaction, userId)
    await recordForCompanies(transaction, { user, action: 'person.unlinked', by })
    return shownUser(user)
  })
}

export async function requireCompany(db: Queryable, vendorId: string): Promise<Company> {
  const company = await findCompany(db, vendorId)
  if (!company) throw new OperatorError(`There is no company ${vendorId}.`)
  return company
}

/** Reads an address, or `vendor_id:address`, which names the account in one company alone. */
export function readAddress(given: string): { vendorId: string | null; email: string } {
  const [, vendorId = null, address = given] = /^(ven_[A-Za-z0-9]{1,60}):(.*)$/.exec(given) ?? []
  return { vendorId, email: normalizedEmail(address) }
}

/** @throws OperatorError unless there is exactly one such account. */
async function requireAccount(db: Queryable, given: string): Promise<Account> {
  const { vendorId, email } = readAddress(given)
  const all = await listAccounts(db, email)
  const member = vendorId === null ? undefined : await findMemberByEmail(db, { vendorId, email })
  const [account, another] = vendorId === null ? all : all.filter(({ userId }) => userId === member?.userId)
  if (!account) throw new OperatorError(`There is no account for ${normalizedEmail(given)}.`)
  if (!another) return account
  throw new OperatorError(
    `${email} has several accounts: name one as vendor_id:${email}. They belong to ${await companiesOf(db, all)}.`,
  )
}

/** "ven_acme; ven_globex, ven_initech": the companies of each account. */
async function companiesOf(db: Queryable, accounts: readonly User[]): Promise<string> {
  const lists = await Promise.all(accounts.map(({ userId }) => listMemberships(db, userId)))
  return lists.map((list) => list.map(({ vendorId }) => vendorId).join(', ') || 'no company').join('; ')
}

const shownUser = ({ userId, email, name }: User): User => ({ userId, email, name })

/** Finds the account or prepares a new one, which `store` inserts. Prompts for the password last. */
async function preparePerson(
  db: Queryable,
  { email: given, name, password, account }: NewPerson,
): Promise<{ user: User; store(transaction: Queryable): Promise<void> }> {
  const email = normalizedEmail(given)
  if (!EMAIL.test(email) || email.length > EMAIL_MAX_CHARACTERS)
    throw new OperatorError(`${JSON.stringify(given)} is not an email address.`)
  const known = await listAccounts(db, email)
  if (known.length > 0 && account === undefined)
    throw new OperatorError(
      `${email} already has an account, which someone else may have created with that address. It belongs to ${await companiesOf(db, known)}. If you know that it is this person's, repeat the command with --existing-account; if you do not, with --new-account.`,
    )
  if (known.length > 0 && account === 'existing') {
    const existing = await onlyOneOf(db, known)
    const store = async (transaction: Queryable) => {
      if (!(await holdPassword(transaction, existing)))
        throw new OperatorError(`The account of ${email} has just changed. Try again.`)
    }
    return { user: shownUser(existing), store }
  }
  if (name === undefined) throw new OperatorError(`${email} has no account yet: add the person's name.`)
  const user = { userId: newUserId(), email, name: checkedName(name) }
  const passwordHash = await hashPassword(await password(), { like: known[0]?.passwordHash })
  return { user, store: (transaction) => insertUser(transaction, { ...user, passwordHash }) }
}

/** Among several accounts, the one that an OpenID provider proves to be the person's. */
async function onlyOneOf(db: Queryable, accounts: readonly Account[]): Promise<Account> {
  const linked = await Promise.all(accounts.map(({ userId }) => isLinked(db, userId)))
  const [account, another] = accounts.length === 1 ? accounts : accounts.filter((_, index) => linked[index])
  if (account && !another) return account
  throw new OperatorError(
    `${accounts[0]?.email} has several accounts, of ${await companiesOf(db, accounts)}. Nothing says which is this person's: repeat the command with --new-account.`,
  )
}

function checkedName(name: string): string {
  const trimmed = name.trim()
  if (trimmed.length === 0 || [...trimmed].length > NAME_MAX_CHARACTERS)
    throw new OperatorError(`A name must have 1 to ${NAME_MAX_CHARACTERS} characters.`)
  return trimmed
}

function knownTimezone(timezone: string): string {
  // Intl accepts an offset such as +02:00, but that has no daylight saving time and no IANA name.
  try {
    if (/^[A-Za-z]/.test(timezone))
      return new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone
  } catch {}
  throw new OperatorError(`${JSON.stringify(timezone)} is not an IANA time zone, such as Europe/Berlin.`)
}

function knownCurrency(currency: string): string {
  const code = currency.toUpperCase()
  if (!Intl.supportedValuesOf('currency').includes(code))
    throw new OperatorError(`${JSON.stringify(currency)} is not an ISO 4217 currency, such as EUR.`)
  return code
}
