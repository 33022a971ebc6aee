import type { JWK } from 'jose'
import type { Queryable } from '#shared/stores/postgres.ts'

/** All SQL for workload_issuers, but for the join of client-credentials.ts. */

/** An issuer of a company's workloads, with its public keys. */
export interface WorkloadIssuer {
  issuer: string
  /** `pasted`: by a person, since the API cannot reach the issuer. */
  keysFrom: 'issuer' | 'pasted'
  keys: JWK[]
  keysAsOf: Date
  /** Why the last attempt to fetch them failed. null: it succeeded, or they were pasted. */
  failure: string | null
}

const ISSUER = `
  select i.issuer, i.keys_from as "keysFrom", i.keys, i.keys_as_of as "keysAsOf", i.failure
  from workload_issuers i
  where i.vendor_id = ? and exists (select from oauth_clients c
    where c.vendor_id = i.vendor_id and c.workload_issuer = i.issuer and c.status = 'Active')`

/** Lists the issuers that an Active client of the company trusts. */
export async function listIssuers(db: Queryable, vendorId: string): Promise<WorkloadIssuer[]> {
  const { rows } = await db.raw(`${ISSUER} order by i.issuer`, [vendorId])
  return rows
}

type IssuerId = { vendorId: string; issuer: string }

/** Returns an issuer that an Active client of the company trusts, if it is one. */
export async function findIssuer(
  db: Queryable,
  { vendorId, issuer }: IssuerId,
): Promise<WorkloadIssuer | undefined> {
  const { rows } = await db.raw(`${ISSUER} and i.issuer = ?`, [vendorId, issuer])
  return rows[0]
}

export type IssuerKeys = Pick<WorkloadIssuer, 'keysFrom' | 'keys' | 'keysAsOf'>

/** Saves the keys of an issuer, in place of any that the company has for it. */
export async function saveIssuerKeys(
  db: Queryable,
  { vendorId, issuer }: IssuerId,
  { keysFrom, keys, keysAsOf }: IssuerKeys,
): Promise<void> {
  await db.raw(
    `insert into workload_issuers (vendor_id, issuer, keys_from, keys, keys_as_of, attempted_at)
     values (:vendorId, :issuer, :keysFrom, :keys, :keysAsOf, :keysAsOf)
     on conflict (vendor_id, issuer) do update set keys_from = excluded.keys_from, keys = excluded.keys,
       keys_as_of = excluded.keys_as_of, attempted_at = excluded.attempted_at, failure = null`,
    { vendorId, issuer, keysFrom, keys: JSON.stringify(keys), keysAsOf },
  )
}

/** Of an issuer, the rows of all companies: they fetch the same keys. */
const FETCHED = `issuer = ? and keys_from = 'issuer'`

/**
 * Claims issuers whose keys are to be fetched, and returns their names: after about ten minutes if a client got a token
 * by the issuer in the last day, else an hour. An issuer that no Active client trusts is left alone.
 */
export async function claimDueIssuers(
  db: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<string[]> {
  const { rows } = await db.raw(
    `with due as (
       select i.issuer from workload_issuers i
         join oauth_clients c on c.vendor_id = i.vendor_id and c.workload_issuer = i.issuer and c.status = 'Active'
         left join client_usage u on u.client_id = c.client_id and u.last_used_at > :now::timestamptz - interval '1 day'
       where i.keys_from = 'issuer'
       group by i.issuer
       having min(i.attempted_at) < :now::timestamptz - (0.9 + 0.2 * random())
         * case when count(u.client_id) > 0 then interval '10 minutes' else interval '1 hour' end
       order by min(i.attempted_at) limit :limit),
     claimed as (
       update workload_issuers i set attempted_at = :now from due
       where i.issuer = due.issuer and i.keys_from = 'issuer' and i.attempted_at < :now::timestamptz - interval '5 minutes'
       returning i.issuer)
     select distinct issuer from claimed`,
    { now, limit },
  )
  return rows.map(({ issuer }: { issuer: string }) => issuer)
}

export async function saveFetchedKeys(
  db: Queryable,
  issuer: string,
  keys: readonly JWK[],
  keysAsOf: Date,
): Promise<void> {
  await db.raw(`update workload_issuers set keys = ?, keys_as_of = ?, failure = null where ${FETCHED}`, [
    JSON.stringify(keys),
    keysAsOf,
    issuer,
  ])
}

export async function saveFailure(db: Queryable, issuer: string, failure: string): Promise<void> {
  await db.raw(`update workload_issuers set failure = ? where ${FETCHED}`, [failure, issuer])
}

/** Keys are fetched each hour at least. If a fetch failed, an hour is enough to report it; else a second one is due. */
const LATE_AFTER_H = { failed: 1, unknown: 2 }

/** Whether the keys of an issuer could not be fetched for so long that someone should look. */
export const isFailing = ({ keysFrom, keysAsOf, failure }: WorkloadIssuer, now_ms: number): boolean =>
  keysFrom === 'issuer' &&
  now_ms - keysAsOf.getTime() >= LATE_AFTER_H[failure === null ? 'unknown' : 'failed'] * 3_600_000

/** Counts the failing issuers that Active clients trust. */
export async function countFailingIssuers(db: Queryable, now: Date): Promise<number> {
  const { rows } = await db.raw(
    `select count(distinct i.issuer) as issuers from workload_issuers i
       join oauth_clients c on c.vendor_id = i.vendor_id and c.workload_issuer = i.issuer and c.status = 'Active'
     where i.keys_from = 'issuer' and i.keys_as_of <= ?::timestamptz - interval '1 hour' *
       case when i.failure is null then ${LATE_AFTER_H.unknown} else ${LATE_AFTER_H.failed} end`,
    [now],
  )
  return Number(rows[0].issuers)
}
