import type { JWK } from 'jose'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { CompanyNotice } from '../mail/outbox.ts'
import { USED_IN_LAST_DAY } from '../usage/read.ts'

/* All SQL for workload_issuers, but for the join of client-credentials.ts. */

/** An issuer of a company's workloads, with its public keys. */
export interface IssuerRecord {
  issuer: string
  /** `pasted`: by a person, because the API cannot reach the issuer. */
  keysFrom: 'issuer' | 'pasted'
  keys: JWK[]
  keysAsOf: Date
  /** Why the last attempt to fetch them failed. null: it succeeded, or they were pasted. */
  failure: string | null
}

/** SQL for whether an Active client of the company trusts issuer `i`. Only these issuers are listed. */
const TRUSTED = `exists (select from oauth_clients c
  where c.vendor_id = i.vendor_id and c.workload_issuer = i.issuer and c.status = 'Active')`

const TRUSTED_ISSUERS = `
  select issuer, keys_from as "keysFrom", keys, keys_as_of as "keysAsOf", failure
  from workload_issuers i where vendor_id = ? and ${TRUSTED}`

/** Returns the issuers that an Active client of the company trusts, by name. */
export async function listIssuers(db: Queryable, vendorId: string): Promise<IssuerRecord[]> {
  const { rows } = await db.raw(`${TRUSTED_ISSUERS} order by issuer`, [vendorId])
  return rows
}

/**
 * Returns one of the issuers that `listIssuers` lists, or undefined, and keeps others from changing it until
 * the transaction ends.
 */
export async function lockIssuer(
  transaction: Queryable,
  { vendorId, issuer }: { vendorId: string; issuer: string },
): Promise<IssuerRecord | undefined> {
  const sql = `${TRUSTED_ISSUERS} and issuer = ? for no key update of i`
  const { rows } = await transaction.raw(sql, [vendorId, issuer])
  return rows[0]
}

export type IssuerKeys = Pick<IssuerRecord, 'keysFrom' | 'keys' | 'keysAsOf'>

/** Saves the keys of an issuer, replacing those that the company has for it. */
export async function saveIssuerKeys(
  db: Queryable,
  { vendorId, issuer }: { vendorId: string; issuer: string },
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

/**
 * Claims issuers whose keys are due: after about ten minutes if one of their clients got a token in the last
 * day, else within an hour, and at once if a process whose clock was ahead fetched them. Returns their names.
 */
export async function claimDueIssuers(
  db: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<string[]> {
  const { rows } = await db.raw(
    `with due as (
       select i.issuer from workload_issuers i
         join oauth_clients c
           on c.vendor_id = i.vendor_id and c.workload_issuer = i.issuer and c.status = 'Active'
       where i.keys_from = 'issuer'
       group by i.issuer
       having min(i.attempted_at) < :now::timestamptz - (0.9 + 0.2 * random())
         * case when bool_or(${USED_IN_LAST_DAY}) then interval '10 minutes' else interval '50 minutes' end
         or max(i.attempted_at) > :now::timestamptz + interval '5 minutes'
       order by min(i.attempted_at) limit :limit),
     claimed as (
       update workload_issuers i set attempted_at = :now from due
       where i.issuer = due.issuer and i.keys_from = 'issuer'
         and abs(extract(epoch from i.attempted_at - :now::timestamptz)) > 300
       returning i.issuer)
     select distinct issuer from claimed`,
    { now, limit },
  )
  return rows.map(({ issuer }: { issuer: string }) => issuer)
}

/** Saves an issuer's keys, or why they could not be fetched, for every company that has it. */
export async function saveFetchResult(
  db: Queryable,
  issuer: string,
  result: readonly JWK[] | string,
  at: Date,
): Promise<void> {
  const [values, bindings] =
    typeof result === 'string'
      ? ['failure = ?', [result]]
      : ['keys = ?, keys_as_of = ?, failure = null', [JSON.stringify(result), at]]
  await db.raw(`update workload_issuers set ${values} where issuer = ? and keys_from = 'issuer'`, [
    ...bindings,
    issuer,
  ])
}

/**
 * Returns notices about issuers that Active clients trust and whose keys were last fetched before a time, by
 * company and issuer.
 * @param after the last notice of the page before.
 */
export async function listFailingIssuers(
  db: Queryable,
  query: { before: Date; after: CompanyNotice<'issuer_keys_unreachable'> | undefined; limit: number },
): Promise<CompanyNotice<'issuer_keys_unreachable'>[]> {
  const { before, after, limit } = query
  const { rows } = await db.raw(
    `select vendor_id as "vendorId", concat_ws(' ', vendor_id, issuer, since) as topic,
       jsonb_build_object('issuer', issuer, 'since', since, 'clients', (
         select jsonb_agg(jsonb_build_object('clientId', c.client_id, 'name', c.name)
           order by c.name, c.client_id)
         from oauth_clients c where c.vendor_id = i.vendor_id and c.workload_issuer = i.issuer
           and c.status = 'Active')) as detail
     from workload_issuers i, to_char(keys_as_of at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as since
     where failure is not null and keys_from = 'issuer' and keys_as_of <= ? and ${TRUSTED}
       and (vendor_id, issuer) > (?, ?) order by vendor_id, issuer limit ?`,
    [before, after?.vendorId ?? '', after?.detail.issuer ?? '', limit],
  )
  return rows
}

/** Alert when an issuer's keys are older than this. */
const STALE_AFTER_MS = 3_600_000

export const isStale = ({ keysFrom, keysAsOf }: IssuerRecord, now_ms: number): boolean =>
  keysFrom === 'issuer' && now_ms - keysAsOf.getTime() >= STALE_AFTER_MS

/** Counts the issuers that Active clients trust and whose keys are stale. */
export async function countStaleIssuers(db: Queryable, now_ms: number): Promise<number> {
  const { rows } = await db.raw(
    `select count(distinct issuer) as issuers from workload_issuers i
     where keys_from = 'issuer' and keys_as_of <= ? and ${TRUSTED}`,
    [new Date(now_ms - STALE_AFTER_MS)],
  )
  return Number(rows[0].issuers)
}
