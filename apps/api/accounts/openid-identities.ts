import type { Queryable } from '#shared/stores/postgres.ts'
import type { User } from './people.ts'

/* The table of OpenID identities: which user each identity at a provider belongs to. */

/** A person's identity at an OpenID provider: only both together identify (OpenID Connect Core §5.7). */
export interface OpenidIdentity {
  issuer: string
  subject: string
}

export async function findUserByIdentity(
  db: Queryable,
  { issuer, subject }: OpenidIdentity,
): Promise<User | undefined> {
  const { rows } = await db.raw(
    `select user_id as "userId", email, name from openid_identities join users using (user_id)
     where issuer = ? and subject = ?`,
    [issuer, subject],
  )
  return rows[0]
}

/** Returns false when the user already has another identity at this provider. */
export async function addIdentity(
  transaction: Queryable,
  { issuer, subject, userId }: OpenidIdentity & { userId: string },
): Promise<boolean> {
  const { rowCount } = await transaction.raw(
    `insert into openid_identities (issuer, subject, user_id) values (?, ?, ?)
     on conflict (user_id, issuer) do nothing`,
    [issuer, subject, userId],
  )
  return rowCount === 1
}

/** Returns whether the account is linked to an OpenID provider. */
export async function isLinked(db: Queryable, userId: string): Promise<boolean> {
  const { rows } = await db.raw('select from openid_identities where user_id = ? limit 1', [userId])
  return rows.length > 0
}

/** Removes the user's identity at every provider. Returns whether there was one. */
export async function removeIdentities(transaction: Queryable, userId: string): Promise<boolean> {
  const { rowCount } = await transaction.raw('delete from openid_identities where user_id = ?', [userId])
  return rowCount > 0
}
