import { record } from '#shared/accounts/activity.ts'
import type { ClientRecord } from '#shared/oauth/clients.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/** The revocation of a client, which the service carries out once it got no token for `quietDays`. */
export interface Armed {
  quietDays: number
  armedAt: Date
  /** The id of a user. */
  armedBy: string
}

type Client = Pick<ClientRecord, 'clientId' | 'name'> & { vendorId: string }

const ARMED = `
  select quiet_days as "quietDays", armed_at as "armedAt", armed_by as "armedBy" from client_rotation
  where client_id = ?`

export async function readArmed(db: Queryable, clientId: string): Promise<Armed | undefined> {
  const { rows } = await db.raw(ARMED, [clientId])
  return rows[0]
}

/** Locks it until the transaction ends. Returns undefined if it is not armed, or locked by another process. */
export async function holdArmed(transaction: Queryable, clientId: string): Promise<Armed | undefined> {
  const { rows } = await transaction.raw(`${ARMED} for update skip locked`, [clientId])
  return rows[0]
}

/** Arms a client, with an activity entry. Call it in a transaction. To repeat the same days changes nothing. */
export async function armRevocation(
  transaction: Queryable,
  { clientId, vendorId, name }: Client,
  { quietDays, armedAt, armedBy: userId }: Armed,
): Promise<void> {
  const { rowCount } = await transaction.raw(
    `insert into client_rotation as r (client_id, quiet_days, armed_at, armed_by) values (?, ?, ?, ?)
     on conflict (client_id) do update
     set quiet_days = excluded.quiet_days, armed_at = excluded.armed_at, armed_by = excluded.armed_by
     where r.quiet_days <> excluded.quiet_days`,
    [clientId, quietDays, armedAt, userId],
  )
  if (rowCount === 0) return
  const author = { vendorId, by: userId }
  await record(transaction, author, 'client.revocation_armed', clientId, { name, quietDays })
}

/** Why the service disarms a client: a person can no longer decide about it. */
export type Disarming = 'person_left' | 'replacement_revoked'

/**
 * Disarms a client, with an activity entry. Call it in a transaction.
 * @param by the person who does it, or why the service does.
 */
export async function disarmRevocation(
  transaction: Queryable,
  { clientId, vendorId, name }: Client,
  by: { userId: string } | { reason: Disarming },
): Promise<void> {
  if (!(await forgetArmed(transaction, clientId))) return
  const [person, reason] = 'userId' in by ? [by.userId, {}] : [null, by]
  const author = { vendorId, by: person }
  await record(transaction, author, 'client.revocation_disarmed', clientId, { name, ...reason })
}

/** Returns whether it was armed. */
export async function forgetArmed(transaction: Queryable, clientId: string): Promise<boolean> {
  const { rowCount } = await transaction.raw('delete from client_rotation where client_id = ?', [clientId])
  return rowCount === 1
}

/** Some Active clients that are armed. In another order each time, so that none waits for the others. */
export async function listArmed(
  db: Queryable,
  limit: number,
): Promise<{ clientId: string; vendorId: string }[]> {
  const { rows } = await db.raw(
    `select client_id as "clientId", c.vendor_id as "vendorId"
     from client_rotation join oauth_clients c using (client_id)
     where c.status = 'Active' order by random() limit ?`,
    [limit],
  )
  return rows
}
