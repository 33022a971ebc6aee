import { within } from '#shared/process/within.ts'
import type { AddressReason, AddressRule } from './address-verdict.ts'
import { DNS_DEADLINE_MS, type Resolution, type Resolve } from './resolver.ts'

/** The verdict on a host name, from its addresses. */
export type NameVerdict =
  /** Each verified, in canonical form. `complete` means that there are no others. */
  | { kind: 'public'; addresses: string[]; complete: boolean }
  /** `reason`: why the first address that is not public is refused. */
  | { kind: 'not_public'; reason: AddressReason }
  | { kind: 'not_found' | 'no_answer' }

/**
 * Queries DNS once and checks every answer. One non-public address disqualifies the whole name. Never
 * rejects, and takes at most 3 s.
 */
export async function checkName(
  name: string,
  { resolve, checkAddress, signal }: { resolve: Resolve; checkAddress: AddressRule; signal?: AbortSignal },
): Promise<NameVerdict> {
  const answer = resolve(name, signal).catch(() => undefined)
  // Ends by the deadline, whatever the resolver does.
  const resolution = (await within(DNS_DEADLINE_MS, answer)) ?? NO_ANSWER
  if (resolution.failure !== null) return { kind: resolution.failure }
  const verdicts = resolution.addresses.map((address) => checkAddress(address))
  const addresses = verdicts.flatMap((verdict) => (verdict.public ? [verdict.address] : []))
  const refusal = verdicts.find((verdict) => !verdict.public)
  if (refusal) return { kind: 'not_public', reason: refusal.reason }
  if (addresses.length === 0) return { kind: 'not_found' }
  return { kind: 'public', addresses: [...new Set(addresses)], complete: resolution.complete }
}

const NO_ANSWER: Resolution = { addresses: [], complete: false, failure: 'no_answer' }
