import { record } from '#shared/accounts/activity.ts'
import type { ClientRecord } from '#shared/oauth/clients.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/** What people have told the service about the rotation of a client. */
export interface RotationPlan {
  secretPutAwayAt: Date | null
  /** Set together: since when the client is to be revoked as soon as that is safe, and who asked for it. */
  armedAt: Date | null
  armedBy: string | null
  armedByName: string | null
}

/** A plan that is armed. */
export interface ArmedPlan extends RotationPlan {
  armedAt: Date
  armedBy: string
}

const NO_PLAN: RotationPlan = { secretPutAwayAt: null, armedAt: null, armedBy: null, armedByName: null }

const PLAN = `
  select r.secret_put_away_at as "secretPutAwayAt", r.armed_at as "armedAt", r.armed_by as "armedBy",
    u.name as "armedByName"
  from client_rotation r left join users u on u.user_id = r.armed_by where r.client_id = ?`

export async function readPlan(db: Queryable, clientId: string): Promise<RotationPlan> {
  const { rows } = await db.raw(PLAN, [clientId])
  return rows[0] ?? NO_PLAN
}

/** Records that the secret of a client is no longer shown. The first time counts. */
export async function putSecretAway(db: Queryable, clientId: string, at: Date): Promise<void> {
  await db.raw(
    `insert into client_rotation as r (client_id, secret_put_away_at) values (?, ?)
     on conflict (client_id) do update
     set secret_put_away_at = coalesce(r.secret_put_away_at, excluded.secret_put_away_at)`,
    [clientId, at],
  )
}

type Client = Pick<ClientRecord, 'clientId' | 'name'> & { vendorId: string }

/** Arms the revocation of a client, with its activity entry. Call it in a transaction. Arming it again changes nothing. */
export async function armRevocation(
  transaction: Queryable,
  { clientId, vendorId, name }: Client,
  { userId, at }: { userId: string; at: Date },
): Promise<void> {
  const { rowCount } = await transaction.raw(
    `insert into client_rotation as r (client_id, armed_at, armed_by) values (?, ?, ?)
     on conflict (client_id) do update set armed_at = excluded.armed_at, armed_by = excluded.armed_by
     where r.armed_at is null`,
    [clientId, at, userId],
  )
  if (rowCount === 0) return
  await record(transaction, { vendorId, by: userId }, 'client.revocation_armed', clientId, { name })
}

/** Why the service disarms a revocation. */
export type Disarming = 'used' | 'person_left' | 'database_restored' | 'no_replacement'

/**
 * Disarms the revocation of a client, with its activity entry. Call it in a transaction.
 * @param by the person who does it, or why the service does it itself.
 */
export async function disarmRevocation(
  transaction: Queryable,
  { clientId, vendorId, name }: Client,
  by: { userId: string } | { why: Disarming },
): Promise<void> {
  const { rowCount } = await transaction.raw(
    `update client_rotation set armed_at = null, armed_by = null where client_id = ? and armed_at is not null`,
    [clientId],
  )
  if (rowCount === 0) return
  const author = { vendorId, by: 'userId' in by ? by.userId : null }
  const reason = 'why' in by && { reason: by.why }
  await record(transaction, author, 'client.revocation_disarmed', clientId, { name, ...reason })
}

/** Some Active clients whose revocation is armed. In another order each time, so that none waits for the others. */
export async function listArmed(
  db: Queryable,
  limit: number,
): Promise<{ clientId: string; vendorId: string }[]> {
  const { rows } = await db.raw(
    `select r.client_id as "clientId", c.vendor_id as "vendorId"
     from client_rotation r join oauth_clients c using (client_id)
     where r.armed_at is not null and c.status = 'Active' order by random() limit ?`,
    [limit],
  )
  return rows
}

/** Reads an armed plan and locks it until the transaction ends. @returns undefined if it is disarmed or locked. */
export async function holdArmed(transaction: Queryable, clientId: string): Promise<ArmedPlan | undefined> {
  const { rows } = await transaction.raw(`${PLAN} and r.armed_at is not null for update of r skip locked`, [
    clientId,
  ])
  return rows[0]
}
