import { isDeepStrictEqual } from 'node:util'
import type { JWK } from 'jose'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { invalidMember } from '../http/input.ts'
import type { FetchKeysInTurn } from './fetch-keys.ts'
import { listIssuers, saveIssuerKeys } from './issuers.ts'

const ISSUERS_MAX = 20

/**
 * The keys of a new client's issuer, or why they could not be fetched.
 * undefined: the company has keys that a person pasted.
 */
export type NewIssuerKeys = { keysFrom: 'issuer' | 'pasted'; keys: JWK[] | string } | undefined

/** Fetches the keys of a new client's issuer, unless a person sends them or has pasted them before. */
export async function findIssuerKeys(
  { db, fetchKeysInTurn }: { db: Database; fetchKeysInTurn: FetchKeysInTurn },
  vendorId: string,
  { issuer, keys }: { issuer: string; keys?: JWK[] | undefined },
): Promise<NewIssuerKeys> {
  if (keys) return { keysFrom: 'pasted', keys }
  const current = (await listIssuers(db, vendorId)).find((record) => record.issuer === issuer)
  return current?.keysFrom === 'pasted'
    ? undefined
    : { keysFrom: 'issuer', keys: await fetchKeysInTurn(vendorId, issuer) }
}

/**
 * Stores the keys of a new client's issuer. Keys that a person pasted are not replaced, since other clients
 * rely on them. Call it after countActiveClients, whose lock keeps the number of issuers from changing.
 * @throws Problem invalid_input
 */
export async function trustIssuer(
  transaction: Queryable,
  {
    vendorId,
    issuer,
    issuerKeys,
    at,
  }: { vendorId: string; issuer: string; issuerKeys: NewIssuerKeys; at: Date },
): Promise<void> {
  const trusted = await listIssuers(transaction, vendorId)
  const current = trusted.find((record) => record.issuer === issuer)
  if (!current && trusted.length >= ISSUERS_MAX) {
    const rule = `must be one of the ${ISSUERS_MAX} issuers that this company trusts already`
    throw invalidMember('/workload/issuer', rule)
  }
  // undefined: the company had pasted keys when the request began. If they are gone, the person has to retry.
  const { keysFrom, keys } = issuerKeys ?? { keysFrom: 'issuer', keys: 'try again' }
  const isPasted = current?.keysFrom === 'pasted'
  if (isPasted && (keysFrom === 'issuer' || isDeepStrictEqual(current.keys, keys))) return
  if (current && keysFrom === 'pasted') {
    const rule = 'must be left out: this company has other keys for this issuer already'
    throw invalidMember('/workload/keys', rule)
  }
  if (typeof keys === 'string') throw invalidMember('/workload/issuer', `must publish its keys: ${keys}`)
  await saveIssuerKeys(transaction, { vendorId, issuer }, { keysFrom, keys, keysAsOf: at })
}
