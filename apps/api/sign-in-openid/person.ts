import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { recordActivity, wasRemoved } from '../accounts/activity.ts'
import { emailAddress, PERSON_NAME_MAX_CHARACTERS, personName } from '../accounts/names.ts'
import { newUserId } from '../accounts/new-ids.ts'
import { addIdentity, findUserByIdentity, isLinked } from '../accounts/openid-identities.ts'
import { unusableHash } from '../accounts/passwords.ts'
import {
  ASSIGNABLE_ROLES,
  type AssignableRole,
  findCompany,
  findMember,
  findMemberByEmail,
  insertUser,
  listAccounts,
  listMembers,
  listMemberships,
  lockAccount,
  lockMembers,
  type Member,
  normalizedEmail,
  PEOPLE_MAX,
  saveMembership,
  type User,
} from '../accounts/people.ts'
import { changePerson } from '../people/change-person.ts'
import { listInvitations, withdrawInvitationTo } from '../people/invitations.ts'
import type { AuthenticatedUser } from '../sessions/begin-session.ts'
import { resetPassword } from '../sessions/change-password.ts'
import type { Claims } from './provider.ts'
import { SignInRefusal } from './refusal.ts'
import type { OpenidSettings } from './settings.ts'

/** Excludes NUL, which Postgres refuses, and lone surrogates, all of which it would store alike. */
const SUBJECT = /^[^\0\p{Cs}]{1,255}$/u
/** The latest possible Date. */
const TIME_MAX_MS = 8.64e15

/** A person as the provider's claims describe them. */
interface ClaimedPerson {
  issuer: string
  subject: string
  vendorId: string
  role: AssignableRole
  /** undefined if the provider verified none. */
  email: string | undefined
  name: string | undefined
  /** When the person last authenticated at the provider; 0 if it does not say. */
  authenticatedAt_ms: number
}

/** A missing or unknown company or role ends the sign-in: there is no default. @throws SignInRefusal */
export function readClaims(claims: Claims, settings: OpenidSettings): ClaimedPerson {
  const claim = (name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined)
  const [subject, authTime] = [parseSubject(claim('sub')), claim('auth_time')]
  if (subject === undefined) throw new SignInRefusal('not_trusted', 'sub')
  const vendorId = findCompanyId(claim(settings.companyClaim), settings)
  if (vendorId === undefined) throw new SignInRefusal('no_company')
  const role = highestRole(claim(settings.roleClaim), settings)
  if (role === undefined) throw new SignInRefusal('no_role')
  const isVerified = settings.emailAlwaysVerified || claim('email_verified') === true
  const email = isVerified ? emailAddress.safeParse(claim('email')).data : undefined
  return {
    issuer: settings.issuer,
    subject,
    vendorId,
    role,
    email: email && normalizedEmail(email),
    name: personName.safeParse(claim('name')).data,
    authenticatedAt_ms:
      typeof authTime === 'number' && authTime > 0 ? Math.min(authTime * 1_000, TIME_MAX_MS) : 0,
  }
}

const parseSubject = (value: unknown): string | undefined =>
  typeof value === 'string' && SUBJECT.test(value) ? value : undefined

function findCompanyId(value: unknown, { companies }: OpenidSettings): string | undefined {
  if (typeof value !== 'string') return undefined
  if (companies !== 'any') return companies.get(value)
  return VENDOR_ID_PATTERN.test(value) ? value : undefined
}

function highestRole(value: unknown, settings: OpenidSettings): AssignableRole | undefined {
  const roles = (Array.isArray(value) ? value : [value]).map((name) => settings.roles.get(name))
  return ASSIGNABLE_ROLES.find((role) => roles.includes(role))
}

interface Admission {
  person: ClaimedPerson
  settings: OpenidSettings
  now: Date
  /** The person's account, if it belongs to no company any more. */
  account?: User | undefined
}

/**
 * Admits the provider's person, an active member of the claimed company. A first sign-in joins the company.
 * After that, membership is managed here, by invitation if there is none left, and only the role follows the
 * claim. Call it in a transaction.
 * @throws SignInRefusal
 */
export async function admitPerson(transaction: Queryable, admission: Admission): Promise<AuthenticatedUser> {
  const { person, settings } = admission
  const { vendorId } = person
  if (!(await findCompany(transaction, vendorId))) throw new SignInRefusal('no_company')
  await lockMembers(transaction, vendorId)
  const account = await findUserByIdentity(transaction, person)
  const isMember = account && (await listMemberships(transaction, account.userId)).length > 0
  const admitted = isMember ? { user: account } : await joinCompany(transaction, { ...admission, account })
  const { user } = admitted
  await updateRole(transaction, person, user)
  // A session reaches all companies of its user, so the provider must be one that all of them accept.
  const memberships = await listMemberships(transaction, user.userId)
  if (!memberships.every((membership) => acceptsCompany(settings, membership.vendorId)))
    throw new SignInRefusal('other_company')
  return admitted
}

const acceptsCompany = ({ companies }: OpenidSettings, vendorId: string): boolean =>
  companies === 'any' || [...companies.values()].includes(vendorId)

/**
 * Links the company's member with this address, or creates an account. The address's account in another
 * company is left alone: it is not proved to be this person's.
 */
async function joinCompany(transaction: Queryable, admission: Admission): Promise<AuthenticatedUser> {
  const { person, account } = admission
  const { email, vendorId } = person
  if (account && account.email !== email) throw new SignInRefusal('removed')
  if (email === undefined) throw new SignInRefusal('no_email')
  const member = await findMemberByEmail(transaction, { vendorId, email })
  if (member && account) throw new SignInRefusal('account_exists')
  return member
    ? linkMember(transaction, admission, member)
    : { user: await addMember(transaction, admission, email) }
}

/** Links the company's built-in account with this verified address, if the settings allow it. */
async function linkMember(
  transaction: Queryable,
  { person: { issuer, subject }, settings }: Admission,
  user: Member,
): Promise<AuthenticatedUser> {
  const { userId } = user
  const isAllowed = settings.linkByEmail && user.status === 'active'
  if (!isAllowed || !(await addIdentity(transaction, { issuer, subject, userId })))
    throw new SignInRefusal('account_exists')
  // Whoever created the account chose its password and may still be signed in.
  const { name, email } = user
  const passwordHash = await noPassword(transaction, email)
  const sessionIds = await resetPassword(transaction, { userId, passwordHash })
  for (const { vendorId } of await listMemberships(transaction, userId))
    await recordActivity(transaction, { vendorId, by: userId }, 'person.linked', userId, { name, email })
  const endedSessions = sessionIds.map((sessionId) => ({ userId, sessionId, why: 'account_linked' as const }))
  return { user, endedSessions }
}

async function addMember(
  transaction: Queryable,
  { person, now, account }: Admission,
  email: string,
): Promise<User> {
  const characters = [...email].slice(0, PERSON_NAME_MAX_CHARACTERS)
  const { issuer, subject, vendorId, role } = person
  const user = account ?? { userId: newUserId(), email, name: person.name ?? characters.join('') }
  const { userId, name } = user
  const invitations = await listInvitations(transaction, { vendorId, now })
  const others = invitations.filter((invitation) => invitation.email !== email)
  const isInvited = others.length < invitations.length
  const isRemoved = account !== undefined || (await wasRemoved(transaction, { vendorId, email }))
  if (isRemoved && !isInvited) throw new SignInRefusal('removed')
  await withdrawInvitationTo(transaction, { vendorId, email })
  const members = await listMembers(transaction, vendorId)
  if (members.length + others.length >= PEOPLE_MAX) throw new SignInRefusal('company_full')
  if (account) {
    // An operator may unlink or erase it at the same time.
    await lockAccount(transaction, userId)
    if (!(await isLinked(transaction, userId))) throw new SignInRefusal('removed')
  } else {
    await insertUser(transaction, { ...user, passwordHash: await noPassword(transaction, email) })
    await addIdentity(transaction, { issuer, subject, userId })
  }
  await saveMembership(transaction, { vendorId, userId, role, status: 'active' })
  const detail = { name, email, role, through: 'openid' }
  await recordActivity(transaction, { vendorId, by: userId }, 'person.joined', userId, detail)
  return user
}

/** Returns a hash for an account without a password, with the salt of all accounts of its address. */
async function noPassword(transaction: Queryable, email: string): Promise<string> {
  const [account] = await listAccounts(transaction, email)
  return unusableHash(account?.passwordHash)
}

/** Gives a member the claimed role. An owner stays owner: only people hand a company over. */
async function updateRole(
  transaction: Queryable,
  { vendorId, role }: ClaimedPerson,
  { userId }: User,
): Promise<void> {
  const membership = await findMember(transaction, { vendorId, userId })
  if (!membership) throw new SignInRefusal('removed')
  if (membership.status === 'suspended') throw new SignInRefusal('suspended')
  if (membership.role !== 'owner')
    await changePerson(transaction, { vendorId, userId, role, by: userId, through: 'openid' })
}
