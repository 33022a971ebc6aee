import { isDeepStrictEqual } from 'node:util'
import type { JWK } from 'jose'
import { findIssuer, listIssuers, saveIssuerKeys } from '#shared/oauth/workload-issuers.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { invalidMember } from '../http/input.ts'
import type { ClientDependencies } from './dependencies.ts'
import { failureSentence, type IssuerFailure } from './issuer-keys.ts'

const ISSUERS_MAX = 20

/** The keys of a new client's issuer: those in the request, or those that the issuer published, or why there are none. */
export interface IssuerKeysSent {
  pasted?: JWK[] | undefined
  fetched?: JWK[] | IssuerFailure | undefined
}

/** Fetches the keys of a new client's issuer, unless a person sent them, now or before. */
export async function findIssuerKeys(
  { db, fetchKeys }: Pick<ClientDependencies, 'db' | 'fetchKeys'>,
  vendorId: string,
  { issuer, keys: pasted }: { issuer: string; keys?: JWK[] | undefined },
): Promise<IssuerKeysSent> {
  if (pasted) return { pasted }
  const known = await findIssuer(db, { vendorId, issuer })
  return known?.keysFrom === 'pasted' ? {} : { fetched: await fetchKeys(vendorId, issuer) }
}

/**
 * Stores the keys of a new client's issuer. Those that a person pasted before are never replaced here, since other
 * clients rely on them. Call it after countActiveClients, which keeps the number of issuers from changing meanwhile.
 * @throws Problem invalid_input
 */
export async function saveIssuer(
  transaction: Queryable,
  { vendorId, issuer, pasted, fetched, at }: IssuerKeysSent & { vendorId: string; issuer: string; at: Date },
): Promise<void> {
  const known = await findIssuer(transaction, { vendorId, issuer })
  if (!known && (await listIssuers(transaction, vendorId)).length >= ISSUERS_MAX)
    throw invalidMember(
      '/workload/issuer',
      `must be one of the ${ISSUERS_MAX} issuers that this company trusts already`,
    )
  const save = (keysFrom: 'issuer' | 'pasted', keys: JWK[]) =>
    saveIssuerKeys(transaction, { vendorId, issuer }, { keysFrom, keys, keysAsOf: at })
  if (pasted) {
    if (!known) return save('pasted', pasted)
    if (known.keysFrom === 'pasted' && isDeepStrictEqual(known.keys, pasted)) return
    throw invalidMember(
      '/workload/keys',
      'must be left out: this company has other keys for this issuer already',
    )
  }
  if (known?.keysFrom === 'pasted') return
  if (!Array.isArray(fetched))
    throw invalidMember(
      '/workload/issuer',
      `must publish its keys: ${failureSentence(fetched ?? 'no_answer')}`,
    )
  return save('issuer', fetched)
}
