import { setTimeout as sleep } from 'node:timers/promises'
import { listSigningKeys } from '#shared/oauth/signing-keys.ts'
import { raiseFence } from '#shared/revocation/fence.ts'
import type { Entry } from '#shared/revocation/subject.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { type Operator, record } from '../../apps/api/accounts/activity.ts'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import {
  differInTimeline,
  heldEntries,
  idsOf,
  insertLostTokens,
  type LastSeen,
  lostAmong,
  parseSeen,
} from '../../apps/api/revocation/restore-check.ts'
import { announce, type Show } from '../progress.ts'
import { markSigningKeyRevoked } from './keys.ts'
import { OperatorError } from './operator.ts'

/** Revocations: the ids of clients and signing keys, and the `jti` of tokens. */
interface Proven {
  clients: Iterable<string>
  keys: Iterable<string>
  tokens: Iterable<string>
}

export interface RevokedAgain {
  clients: { clientId: string; vendorId: string; name: string }[]
  keys: string[]
  tokens: string[]
}

export interface Fence {
  raisedAt: Date
  reason: string
}

/** Returns the current fence; undefined if there is none. */
export async function standingFence(db: Queryable): Promise<Fence | undefined> {
  const { rows } = await db.raw(
    `select raised_at as "raisedAt", reason from restore_fences where lowered_at is null`,
  )
  return rows[0]
}

/** Returns why all access is blocked, even if no service has raised a fence yet; undefined if it is not. */
export async function whyFenced(
  db: Queryable,
): Promise<Fence | { raisedAt: null; reason: string } | undefined> {
  const fence = await standingFence(db)
  if (fence) return fence
  const { place, confirmedPlace } = await readPlaces(db)
  if (place === confirmedPlace) return undefined
  const reason = differInTimeline(place, confirmedPlace)
    ? 'the database has not yet been compared with Redis, as after promoting a standby (see the log of the API)'
    : 'the database is a copy, or was restored'
  return { raisedAt: null, reason }
}

/** The current place of the database (empty for a standby), and the place where it was confirmed as complete. */
async function readPlaces(db: Queryable): Promise<{ place: string; confirmedPlace: string }> {
  const { rows } = await db.raw(
    `select coalesce(database_place(), '') as place, place as "confirmedPlace" from revocation_trust`,
  )
  return rows[0]
}

/** Raises a fence if there is none. Once it resolves, every process of both services refuses all access. */
export async function keepFenced(
  db: Database,
  { since, by, show }: { since: Date; by: Operator; show: Show },
): Promise<void> {
  await db.transaction(async (transaction) => {
    await raiseFence(transaction, 'an operator: admin restore fence')
    await record(transaction, { vendorId: null, by }, 'database.fenced', 'database', { since })
  })
  await everyProcessFenced(db, show)
}

/** Resolves once no process trusts anything that Redis vouched for before the fence. */
async function everyProcessFenced(db: Database, show: Show): Promise<void> {
  const { rows } = await db.raw(
    `select (extract(epoch from clock_timestamp() - raised_at) * 1000)::bigint as age_ms
     from restore_fences where lowered_at is null`,
  )
  const { settle_ms } = PRODUCTION_TIMINGS
  const wait_ms = Math.min(settle_ms, settle_ms - (rows[0]?.age_ms ?? settle_ms))
  if (wait_ms <= 0) return
  const text = `Waiting ${Math.ceil(wait_ms / 1_000)} s until every process has noticed the fence`
  await announce(show, text, sleep(wait_ms))
}

/** Reads what Redis remembers about the database. Rejects if Redis fails. */
export const readSeen = async (redis: Redis): Promise<LastSeen | undefined> =>
  parseSeen((await redis.get(redisKeys.revocationSeen)) ?? '')

/** Reads the revocations that Redis has and Postgres lacks. Rejects if Redis fails. */
export async function provenByRedis(db: Database, redis: Redis): Promise<Proven> {
  const seen = await readSeen(redis)
  const lost: Entry[] = []
  for await (const entries of heldEntries(redis)) lost.push(...(await lostAmong(db, entries)))
  const newest = seen ? [seen.id] : []
  return {
    clients: [...newest, ...idsOf('client', lost)],
    keys: [...newest, ...idsOf('key', lost)],
    tokens: idsOf('token', lost),
  }
}

/**
 * Revokes again everything in the database whose revocation was lost, and ends every restored session and invitation.
 * Call it behind a fence. The services learn of it when the fence is lowered.
 */
export async function revokeAgain(
  db: Database,
  proven: readonly Proven[],
  { now_ms, by }: { now_ms: number; by: Operator },
): Promise<RevokedAgain> {
  const all = (kind: keyof Proven) => [...new Set(proven.flatMap((some) => [...some[kind]]))]
  const kids = all('keys')
  return db.transaction(async (transaction) => {
    const clients = await revokeClients(transaction, all('clients'), by)
    const keys: string[] = []
    for (const { kid, revokedAt } of await listSigningKeys(transaction))
      if (!revokedAt && kids.includes(kid) && (await markSigningKeyRevoked(transaction, kid, now_ms)))
        keys.push(kid)
    const tokens = await insertLostTokens(transaction, all('tokens'))
    const { rowCount: sessions } = await transaction.raw('delete from sessions')
    const { rowCount: invitations } = await transaction.raw('delete from invitations')
    const counts = { clients: clients.length, tokens: tokens.length, sessions, invitations }
    await record(transaction, { vendorId: null, by }, 'database.repaired', 'database', { ...counts, keys })
    return { clients, keys, tokens }
  })
}

async function revokeClients(
  db: Queryable,
  clientIds: string[],
  by: Operator,
): Promise<RevokedAgain['clients']> {
  const { rows } = await db.raw(
    `select client_id as "clientId", vendor_id as "vendorId", name from oauth_clients
     where client_id = any(?::text[]) and status = 'Active'`,
    [clientIds],
  )
  for (const { clientId, vendorId, name } of rows as RevokedAgain['clients']) {
    await markClientRevoked(db, { vendorId, clientId, revokedBy: null })
    await record(db, { vendorId, by }, 'client.revoked', clientId, { name })
  }
  return rows
}

/** Returns the number of Active clients according to the database. */
export async function countActive(db: Queryable): Promise<number> {
  const { rows } = await db.raw(`select count(*) as active from oauth_clients where status = 'Active'`)
  return rows[0].active
}

/**
 * Confirms that the database is complete, and lowers the fence. The services resume within seconds.
 * @param seen what Redis remembers. The confirmation is dated after it even if the clock of Postgres is behind.
 * @throws OperatorError while the database is being compared with Redis, since revocations may still be missing.
 */
export async function confirmDatabase(
  db: Database,
  { seen, by, show }: { seen: LastSeen | undefined; by: Operator; show: Show },
): Promise<Fence | undefined> {
  const fence = await standingFence(db)
  const { place, confirmedPlace } = await readPlaces(db)
  if (!fence && differInTimeline(place, confirmedPlace))
    throw new OperatorError(
      'Nothing was confirmed: the services compare a promoted database with Redis on their own, and then allow access or raise a fence. After a recovery to a point in time, or to skip the comparison, run "restore fence" first.',
    )
  await everyProcessFenced(db, show)
  await db.transaction(async (transaction) => {
    await transaction.raw(
      `with lowered as (update restore_fences set lowered_at = clock_timestamp() where lowered_at is null)
     update revocation_trust set place = database_place(),
       confirmed_at = greatest(clock_timestamp(), to_timestamp(? / 1000.0))`,
      [(seen?.confirmedAt_ms ?? 0) + 1],
    )
    await record(transaction, { vendorId: null, by }, 'database.confirmed', 'database')
  })
  return fence
}
