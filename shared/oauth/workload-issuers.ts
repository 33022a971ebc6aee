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
