import type { AddressReason, AddressRule } from './address-verdict.ts'
import type { FetchFailure } from './failures.ts'
import { checkName } from './name-verdict.ts'
import type { Resolve } from './resolver.ts'
import type { PublicUrl } from './url-verdict.ts'

/** The addresses that a request may go to, or why there are none. */
export interface AddressLookup {
  /** Verified as public, in canonical form; empty on failure. */
  addresses: string[]
  dnsMs: number | null
  failure: FetchFailure | null
  /** Why an address is not public, if that is the failure. */
  addressReason: AddressReason | null
}

export const failedLookup = (
  failure: FetchFailure,
  { dnsMs = null, addressReason = null }: Partial<Pick<AddressLookup, 'dnsMs' | 'addressReason'>> = {},
): AddressLookup => ({ addresses: [], dnsMs, failure, addressReason })

/** Finds the addresses to connect to. DNS is queried here, once, and never again. */
export async function findAddresses(
  url: PublicUrl,
  { resolve, checkAddress, signal }: { resolve: Resolve; checkAddress: AddressRule; signal: AbortSignal },
): Promise<AddressLookup> {
  const success = { failure: null, addressReason: null }
  if (url.address !== null) return { ...success, addresses: [url.address], dnsMs: null }
  const started_ms = performance.now()
  const verdict = await checkName(url.hostname, { resolve, checkAddress, signal })
  const dnsMs = performance.now() - started_ms
  if (signal.aborted) return failedLookup(signal.reason as FetchFailure)
  switch (verdict.kind) {
    case 'public':
      return { ...success, addresses: verdict.addresses, dnsMs }
    case 'not_public':
      return failedLookup('address_not_public', { dnsMs, addressReason: verdict.reason })
    case 'not_found':
      return failedLookup('name_not_found', { dnsMs })
    case 'no_answer':
      return failedLookup('name_unanswered')
  }
}
