import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { record, wasRemoved } from '../accounts/activity.ts'
import { emailAddress, PERSON_NAME_MAX_CHARACTERS, personName } from '../accounts/names.ts'
import { newUserId } from '../accounts/new-ids.ts'
import { addIdentity, findUserByIdentity } from '../accounts/openid-identities.ts'
import { unusableHash } from '../accounts/passwords.ts'
import {
  findCompany,
  findMember,
  findMemberByEmail,
  insertUser,
  listMembers,
  listMemberships,
  lockMembers,
  type Member,
  normalizedEmail,
  PEOPLE_MAX,
  saveMembership,
  type User,
} from '../accounts/people.ts'
import { changePerson } from '../people/change-person.ts'
import { listInvitations, withdrawInvitationTo } from '../people/invitations.ts'
import type { Admitted } from '../sessions/begin-session.ts'
import { resetPassword } from '../sessions/change-password.ts'
import type { Claims } from './provider.ts'
import { OpenidRefusal } from './refusal.ts'
import type { OpenidRole, OpenidSettings } from './settings.ts'

const SUBJECT_MAX_CHARACTERS = 255
/** The latest possible Date. */
const TIME_MAX_MS = 8.64e15

/** What the claims of a provider say about a person, in our terms. */
interface ClaimedPerson {
  issuer: string
  subject: string
  vendorId: string
  role: OpenidRole
  /** undefined if the provider verified none. */
  email: string | undefined
  name: string | undefined
  /** When the person last authenticated at the provider; 0 if it does not say. */
  authenticatedAt_ms: number
}

/** Nothing is guessed: a missing or unknown company or role ends the sign-in. @throws OpenidRefusal */
export function claimedPerson(claims: Claims, settings: OpenidSettings): ClaimedPerson {
  const of = (name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined)
  const [subject, authTime] = [subjectOf(of('sub')), of('auth_time')]
  if (subject === undefined) throw new OpenidRefusal('not_trusted', 'sub')
  const vendorId = companyOf(of(settings.companyClaim), settings)
  if (vendorId === undefined) throw new OpenidRefusal('no_company')
  const role = roleOf(of(settings.roleClaim), settings)
  if (role === undefined) throw new OpenidRefusal('no_role')
  const verified = settings.emailAlwaysVerified || of('email_verified') === true
  const email = verified ? emailAddress.safeParse(of('email')).data : undefined
  return {
    issuer: settings.issuer,
    subject,
    vendorId,
    role,
    email: email && normalizedEmail(email),
    name: personName.safeParse(of('name')).data,
    authenticatedAt_ms:
      typeof authTime === 'number' && authTime > 0 ? Math.min(authTime * 1_000, TIME_MAX_MS) : 0,
  }
}

const subjectOf = (claimed: unknown): string | undefined =>
  typeof claimed === 'string' &&
  claimed.length > 0 &&
  claimed.length <= SUBJECT_MAX_CHARACTERS &&
  !claimed.includes('\0')
    ? claimed
    : undefined

function companyOf(claimed: unknown, { companies }: OpenidSettings): string | undefined {
  if (typeof claimed !== 'string') return undefined
  if (companies !== 'any') return companies.get(claimed)
  return VENDOR_ID_PATTERN.test(claimed) ? claimed : undefined
}

function roleOf(claimed: unknown, { roles }: OpenidSettings): OpenidRole | undefined {
  const known = (Array.isArray(claimed) ? claimed : [claimed]).map((value) => roles.get(value))
  return known.includes('admin') ? 'admin' : known.find((role) => role !== undefined)
}

interface Admission {
  claimed: ClaimedPerson
  settings: OpenidSettings
  now: Date
}

/**
 * Admits the provider's person, an active member of the claimed company. A first sign-in joins the company.
 * After that, membership is managed here, and only the role follows the claim. Call it in a transaction.
 * @throws OpenidRefusal
 */
export async function admitClaimed(transaction: Queryable, admission: Admission): Promise<Admitted> {
  const { claimed, settings } = admission
  const { vendorId } = claimed
  if (!(await findCompany(transaction, vendorId))) throw new OpenidRefusal('no_company')
  await lockMembers(transaction, vendorId)
  const known = await findUserByIdentity(transaction, claimed)
  const admitted = known ? { user: known } : await firstSignIn(transaction, admission)
  const { user } = admitted
  await followRole(transaction, claimed, user)
  // A session reaches all companies of its user, so the provider must be one that all of them accept.
  const memberships = await listMemberships(transaction, user.userId)
  if (!memberships.every((membership) => acceptsCompany(settings, membership.vendorId)))
    throw new OpenidRefusal('other_company')
  return admitted
}

const acceptsCompany = ({ companies }: OpenidSettings, vendorId: string): boolean =>
  companies === 'any' || [...companies.values()].includes(vendorId)

/**
 * Links the company's member with this address, or creates an account. The address's account in another
 * company is left alone: it is not proved to be this person's.
 */
async function firstSignIn(transaction: Queryable, admission: Admission): Promise<Admitted> {
  const { email, vendorId } = admission.claimed
  if (email === undefined) throw new OpenidRefusal('no_email')
  const there = await findMemberByEmail(transaction, { vendorId, email })
  return there
    ? linked(transaction, admission, there)
    : { user: await newUser(transaction, admission, email) }
}

/** Links the company's built-in account with this verified address, if the settings allow it. */
async function linked(
  transaction: Queryable,
  { claimed: { issuer, subject }, settings }: Admission,
  user: Member,
): Promise<Admitted> {
  const { userId } = user
  const may = settings.linkByEmail && user.status === 'active'
  if (!may || !(await addIdentity(transaction, { issuer, subject, userId })))
    throw new OpenidRefusal('account_exists')
  // Whoever created the account chose its password and may still be signed in.
  const ended = await resetPassword(transaction, { userId, passwordHash: unusableHash() })
  const { name, email } = user
  for (const { vendorId } of await listMemberships(transaction, userId))
    await record(transaction, { vendorId, by: userId }, 'person.linked', userId, { name, email })
  return { user, ended: ended.map((sessionId) => ({ userId, sessionId, why: 'account_linked' })) }
}

async function newUser(transaction: Queryable, { claimed, now }: Admission, email: string): Promise<User> {
  const { issuer, subject, vendorId, role, name = email.slice(0, PERSON_NAME_MAX_CHARACTERS) } = claimed
  const user = { userId: newUserId(), email, name }
  const { userId } = user
  if (await wasRemoved(transaction, { vendorId, email })) throw new OpenidRefusal('removed')
  await withdrawInvitationTo(transaction, { vendorId, email })
  const people = await listMembers(transaction, vendorId)
  const invited = await listInvitations(transaction, { vendorId, now })
  if (people.length + invited.length >= PEOPLE_MAX) throw new OpenidRefusal('company_full')
  await insertUser(transaction, { ...user, passwordHash: unusableHash() })
  await addIdentity(transaction, { issuer, subject, userId })
  await saveMembership(transaction, { vendorId, userId, role, status: 'active' })
  const detail = { name, email, role, through: 'openid' }
  await record(transaction, { vendorId, by: userId }, 'person.joined', userId, detail)
  return user
}

/** An owner stays owner: only people hand a company over. */
async function followRole(
  transaction: Queryable,
  { vendorId, role }: ClaimedPerson,
  { userId }: User,
): Promise<void> {
  const membership = await findMember(transaction, { vendorId, userId })
  if (!membership) throw new OpenidRefusal('removed')
  if (membership.status === 'suspended') throw new OpenidRefusal('suspended')
  if (membership.role !== 'owner')
    await changePerson(transaction, { vendorId, userId, role, by: userId, through: 'openid' })
}
