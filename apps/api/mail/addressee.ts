import type { Database } from '#shared/stores/postgres.ts'
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
  /** What an invitation offers. */
  role?: string
  invitedBy?: string
  /** When `link` expires. */
  expiresAt?: Date
}

/** Returns undefined if the mail is no longer to be sent. */
export type FindAddressee = (db: Database, mail: OutgoingMail) => Promise<Addressee | undefined>
