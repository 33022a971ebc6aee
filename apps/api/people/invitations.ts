import type { Queryable } from '#shared/stores/postgres.ts'
import type { AssignableRole } from '../accounts/people.ts'
import { purgeByTime } from '../stores/purge.ts'

/* The tables of invitations and of their links. */

export const INVITATION_LIFETIME_HOURS = 72
export const INVITATION_LIFETIME_MS = INVITATION_LIFETIME_HOURS * 3_600_000
/** How long an expired invitation stays listed, so that the owner can invite again. */
export const EXPIRED_LISTED_DAYS = 30
export const EXPIRED_LISTED_MS = EXPIRED_LISTED_DAYS * 24 * 3_600_000

export interface Invitation {
  vendorId: string
  /** Identifies the invitation in the list of people; becomes the user id of a person without an account. */
  userId: string
  email: string
  name: string
  role: AssignableRole
  expiresAt: Date
}

const COLUMNS = 'vendor_id as "vendorId", user_id as "userId", email, name, role, expires_at as "expiresAt"'

/** Replaces an earlier invitation of the same person to the same company. Call it in a transaction. */
export async function replaceInvitation(
  transaction: Queryable,
  invitation: Invitation & { invitedBy: string; createdAt: Date },
): Promise<void> {
  await withdrawInvitationTo(transaction, invitation)
  await transaction.raw(
    `insert into invitations (vendor_id, user_id, email, name, role, invited_by, created_at, expires_at)
     values (:vendorId, :userId, :email, :name, :role, :invitedBy, :createdAt, :expiresAt)`,
    { ...invitation },
  )
}

/**
 * Adds a link to an invitation, which now expires as much later. The links that it has go on working. Call it
 * in a transaction. Returns undefined as findInvitation does.
 */
export async function addInvitationLink(
  transaction: Queryable,
  { userId, tokenHash, isMailed, now }: { userId: string; tokenHash: Buffer; isMailed: boolean; now: Date },
): Promise<(Invitation & { companyName: string; timezone: string; invitedBy: string }) | undefined> {
  const { rows } = await transaction.raw(
    `update invitations i set expires_at = ? from companies c, users u
     where i.user_id = ? and i.expires_at > ? and c.vendor_id = i.vendor_id and c.erased_at is null
       and u.user_id = i.invited_by
     returning i.vendor_id as "vendorId", i.user_id as "userId", i.email, i.name, i.role,
       i.expires_at as "expiresAt", c.name as "companyName", c.timezone, u.name as "invitedBy"`,
    [new Date(now.getTime() + INVITATION_LIFETIME_MS), userId, now],
  )
  const sql = 'insert into invitation_links (token_hash, user_id, is_mailed) values (?, ?, ?)'
  if (rows[0]) await transaction.raw(sql, [tokenHash, userId, isMailed])
  return rows[0]
}

/** Returns undefined if it never existed, was used or withdrawn, has expired, or the company is erased. */
export async function findInvitation(
  db: Queryable,
  { tokenHash, now }: { tokenHash: Buffer; now: Date },
): Promise<(Invitation & { companyName: string; invitedBy: string; isMailed: boolean }) | undefined> {
  const { rows } = await db.raw(
    `select i.vendor_id as "vendorId", i.user_id as "userId", i.email, i.name, i.role, i.expires_at as "expiresAt",
       c.name as "companyName", u.name as "invitedBy", l.is_mailed as "isMailed"
     from invitation_links l join invitations i using (user_id) join companies c using (vendor_id)
       join users u on u.user_id = i.invited_by
     where l.token_hash = ? and i.expires_at > ? and c.erased_at is null`,
    [tokenHash, now],
  )
  return rows[0]
}

/** Returns the invitations that expire after `now`, by name. */
export async function listInvitations(
  db: Queryable,
  { vendorId, now }: { vendorId: string; now: Date },
): Promise<Invitation[]> {
  const { rows } = await db.raw(
    `select ${COLUMNS} from invitations where vendor_id = ? and expires_at > ? order by name, user_id`,
    [vendorId, now],
  )
  return rows
}

/**
 * Ends an invitation and its links. Returns it; undefined if there was none. Of several concurrent calls,
 * only one gets it.
 */
export async function withdrawInvitation(
  transaction: Queryable,
  { vendorId, userId }: { vendorId: string; userId: string },
): Promise<Invitation | undefined> {
  const { rows } = await transaction.raw(
    `delete from invitations where vendor_id = ? and user_id = ? returning ${COLUMNS}`,
    [vendorId, userId],
  )
  return rows[0]
}

/** Withdraws the company's invitation to an address, if there is one. */
export async function withdrawInvitationTo(
  transaction: Queryable,
  { vendorId, email }: { vendorId: string; email: string },
): Promise<void> {
  await transaction.raw('delete from invitations where vendor_id = ? and email = ?', [vendorId, email])
}

export const INVITATION_PURGE = purgeByTime({
  table: 'invitations',
  key: 'user_id',
  time: 'expires_at',
  kept_ms: EXPIRED_LISTED_MS,
})
