import { normalizedEmail } from '#shared/accounts/people.ts'
import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import { emailAddress, personName } from '../http/input.ts'
import type { Claims } from './openid-provider.ts'
import { OpenidRefusal } from './openid-refusal.ts'
import type { OpenidRole, OpenidSettings } from './openid-settings.ts'

/** What the claims of a provider say about a person, in our terms. */
export interface ClaimedPerson {
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

const SUBJECT_MAX_CHARACTERS = 255
/** The latest possible Date. */
const TIME_MAX_MS = 8.64e15

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

/** Whether people of the provider may belong to this company. */
export const serves = ({ companies }: OpenidSettings, vendorId: string): boolean =>
  companies === 'any' || [...companies.values()].includes(vendorId)
