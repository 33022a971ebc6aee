import { createHmac } from 'node:crypto'
import type { Queryable } from '#shared/stores/postgres.ts'
import { normalizedEmail } from '../accounts/people.ts'

const NAME_CHARACTERS = 16

/** Returns a short name for an email address, the same in every process, that does not reveal it. */
export type AccountName = (email: string) => Promise<string>

/**
 * Names accounts in the log, so that guesses at one account show without revealing whose it is. The key is
 * stored only in Postgres. Without it, no one can test addresses against the log.
 */
export const createAccountNames =
  (db: Queryable): AccountName =>
  async (email) => {
    const { rows } = await db.raw('select key from account_log_key')
    const mac = createHmac('sha256', rows[0].key).update(normalizedEmail(email))
    return mac.digest('base64url').slice(0, NAME_CHARACTERS)
  }
