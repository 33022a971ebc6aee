import { isDeepStrictEqual } from 'node:util'
import type { JWK } from 'jose'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { invalidMember } from '../http/input.ts'
import { listIssuers, saveIssuerKeys } from './issuers.ts'

const ISSUERS_MAX = 20

/** The keys of a new client's issuer, or why they could not be fetched. undefined: the company pasted some before. */
export type NewIssuerKeys = { keysFrom: 'issuer' | 'pasted'; keys: JWK[] | string } | undefined

/** Fetches an issuer's keys for a company, in the company's turn. Returns why it cannot, for a person of it. */
export type FetchIssuerKeys = (vendorId: string, issuer: string) => Promise<JWK[] | string>

/** Fetches the keys of a new client's issuer, unless a person sent them, now or before. */
export async function findIssuerKeys(
  { db, fetchIssuerKeys }: { db: Database; fetchIssuerKeys: FetchIssuerKeys },
  vendorId: string,
  { issuer, keys }: { issuer: string; keys?: JWK[] | undefined },
): Promise<NewIssuerKeys> {
  if (keys) return { keysFrom: 'pasted', keys }
  const known = (await listIssuers(db, vendorId)).find((one) => one.issuer === issuer)
  return known?.keysFrom === 'pasted'
    ? undefined
    : { keysFrom: 'issuer', keys: await fetchIssuerKeys(vendorId, issuer) }
}

/**
 * Stores the keys of a new client's issuer. Those that a person pasted before are never replaced here, since other
 * clients rely on them. Call it after countActiveClients, which keeps the number of issuers from changing meanwhile.
 * @throws Problem invalid_input
 */
export async function saveIssuer(
  transaction: Queryable,
  { vendorId, issuer, sent, at }: { vendorId: string; issuer: string; sent: NewIssuerKeys; at: Date },
): Promise<void> {
  const trusted = await listIssuers(transaction, vendorId)
  const known = trusted.find((one) => one.issuer === issuer)
  if (!known && trusted.length >= ISSUERS_MAX) {
    const rule = `must be one of the ${ISSUERS_MAX} issuers that this company trusts already`
    throw invalidMember('/workload/issuer', rule)
  }
  const { keysFrom, keys } = sent ?? { keysFrom: 'issuer', keys: 'try again' }
  const wasPasted = known?.keysFrom === 'pasted'
  if (wasPasted && (keysFrom === 'issuer' || isDeepStrictEqual(known.keys, keys))) return
  if (known && keysFrom === 'pasted') {
    const rule = 'must be left out: this company has other keys for this issuer already'
    throw invalidMember('/workload/keys', rule)
  }
  if (typeof keys === 'string') throw invalidMember('/workload/issuer', `must publish its keys: ${keys}`)
  await saveIssuerKeys(transaction, { vendorId, issuer }, { keysFrom, keys, keysAsOf: at })
}
