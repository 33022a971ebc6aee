import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose'
import type { LogHead } from '#shared/accounts/activity-log.ts'
import type { Fault } from './audit-entry.ts'

/** The public keys of the API, from `/.well-known/activity-keys.json`. */
export type SignatureKeys = JSONWebKeySet

/** How far the clocks of the API, which signs a head, and of the database, which dates it, may be apart. */
const SKEW_MAX_MS = 600_000

type SignedHead = Pick<LogHead, 'treeSize' | 'rootHash' | 'signed' | 'at'>

/**
 * Checks the signature of each head. Once one was signed, all must be: whoever has only the database cannot sign.
 * Returns no fault without keys.
 */
export async function checkSignatures(
  heads: readonly SignedHead[],
  keys: SignatureKeys | undefined,
): Promise<Fault[]> {
  if (!keys) return []
  const keySet = createLocalJWKSet(keys)
  const faults: Fault[] = []
  let signed = false
  for (const head of heads) {
    const of = `The head of ${head.at.toISOString()} over ${head.treeSize} entries`
    if (head.signed === null) {
      if (signed) faults.push({ kind: 'signature', text: `${of} is not signed, though an earlier one is.` })
      continue
    }
    signed = true
    const claims = await claimsOf(head.signed, keySet)
    if (!claims) faults.push({ kind: 'signature', text: `${of} has no good signature.` })
    else if (!isSame(claims, head))
      faults.push({ kind: 'signature', text: `${of} is not the one that was signed.` })
  }
  if (!signed) faults.push({ kind: 'signature', text: 'No head is signed.' })
  return faults
}

const isSame = ({ treeSize, rootHash, iat }: Claims, head: SignedHead): boolean =>
  treeSize === head.treeSize &&
  rootHash === head.rootHash.toString('base64url') &&
  Math.abs(Number(iat) * 1000 - head.at.getTime()) <= SKEW_MAX_MS

interface Claims {
  treeSize?: unknown
  rootHash?: unknown
  iat?: unknown
}

async function claimsOf(jws: string, keySet: ReturnType<typeof createLocalJWKSet>) {
  try {
    const { payload } = await compactVerify(jws, keySet, { algorithms: ['EdDSA'] })
    const claims: Claims = JSON.parse(new TextDecoder().decode(payload))
    return claims
  } catch {
    return undefined
  }
}
