import type { Database } from '#shared/stores/postgres.ts'
import { type CompanyRole, findCompany, findMember, findUser, MANAGER_ROLES } from '../accounts/people.ts'
import type { OutgoingMail } from './outbox.ts'

/** Who gets a mail, and what is looked up for it when it is sent. */
export interface Addressee {
  email: string
  /** Empty if it is not known. */
  name: string
  /** An absolute URL that is a credential, created for this mail alone. */
  link?: string
  companyName?: string
  /** The company's, an IANA name. */
  timezone?: string
  /** In the company: what the person has, or what an invitation offers. */
  role?: CompanyRole
  invitedBy?: string
  /** When `link` expires. */
  expiresAt?: Date
  /** The names of the companies of the account whose password is reset. */
  companies?: readonly string[]
}

/** Returns undefined if the mail is no longer to be sent. */
export type FindAddressee = (db: Database, mail: OutgoingMail) => Promise<Addressee | undefined>

/** Finds whoever still manages the company, as its owner or an active admin. */
export const findManager: FindAddressee = async (db, { userId, vendorId }) => {
  if (!userId || !vendorId) return undefined
  const company = await findCompany(db, vendorId)
  const member = await findMember(db, { vendorId, userId })
  if (!company || member?.status !== 'active' || !MANAGER_ROLES.includes(member.role)) return undefined
  const { email, name, role } = member
  return { email, name, role, companyName: company.name, timezone: company.timezone }
}

/** Finds the account, unless it is closed. */
export const findAccount: FindAddressee = async (db, { userId }) =>
  userId ? findUser(db, userId) : undefined
