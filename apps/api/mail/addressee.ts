import type { Database } from '#shared/stores/postgres.ts'
import {
  type CompanyRecord,
  type CompanyRole,
  findCompany,
  findMember,
  findUser,
  MANAGER_ROLES,
} from '../accounts/people.ts'
import type { OutgoingMail } from './outbox.ts'

/** Who gets a mail, and what is looked up for it when it is sent. */
export interface Addressee {
  email: string
  /** What the mail is about, and the person's role in it. Without one, it is about their account. */
  company?: Pick<CompanyRecord, 'vendorId' | 'name' | 'timezone'> & { role: CompanyRole }
  /** An absolute URL that is a credential, created for this mail alone. */
  link?: { url: string; expiresAt: Date }
  /** The name of the person who invites. */
  invitedBy?: string
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
  return { email: member.email, company: { ...company, role: member.role } }
}

/** Finds the account, unless it is closed. */
export const findAccount: FindAddressee = async (db, { userId }) =>
  userId ? findUser(db, userId) : undefined
