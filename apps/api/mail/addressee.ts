import type { Database, Queryable } from '#shared/stores/postgres.ts'
import {
  type CompanyRecord,
  type CompanyRole,
  findCompany,
  findMember,
  findUser,
  listMemberships,
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
  /** The names of the companies of the account. */
  companies?: readonly string[]
  /** The zone of the account's only company. */
  timezone?: string | undefined
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
  userId ? findAccountAddressee(db, userId) : undefined

/** Returns the address and the companies of an account, undefined if it is closed. */
export async function findAccountAddressee(
  db: Queryable,
  userId: string,
): Promise<(Addressee & Required<Pick<Addressee, 'companies'>>) | undefined> {
  const user = await findUser(db, userId)
  const memberships = await listMemberships(db, userId)
  const timezone = memberships.length === 1 ? memberships[0]?.timezone : undefined
  return user && { email: user.email, companies: memberships.map(({ name }) => name), timezone }
}
