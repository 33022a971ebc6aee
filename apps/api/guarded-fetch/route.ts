import type { AddressReason, AddressRule } from './address-verdict.ts'
import type { Failure } from './failures.ts'
import { judgeName } from './name-verdict.ts'
import type { Resolve } from './resolver.ts'
import type { CallbackUrl } from './url-verdict.ts'

/** Where a request goes, or why it does not. */
export interface Route {
  /** Verified as public, in canonical form; empty on failure. */
  addresses: string[]
  dnsMs: number | null
  failure: Failure | null
  /** Why an address is not public, if that is the failure. */
  addressReason: AddressReason | null
}

export const noRoute = (
  failure: Failure,
  { dnsMs = null, addressReason = null }: Partial<Pick<Route, 'dnsMs' | 'addressReason'>> = {},
): Route => ({ addresses: [], dnsMs, failure, addressReason })

/** Finds the addresses to connect to. DNS is queried here, once, and never again. */
export async function findAddresses(
  url: CallbackUrl,
  { resolve, judgeAddress, signal }: { resolve: Resolve; judgeAddress: AddressRule; signal: AbortSignal },
): Promise<Route> {
  const found = { failure: null, addressReason: null }
  if (url.address !== null) return { ...found, addresses: [url.address], dnsMs: null }
  const asked = performance.now()
  const verdict = await judgeName(url.hostname, { resolve, judgeAddress, signal })
  const dnsMs = performance.now() - asked
  if (signal.aborted) return noRoute(signal.reason as Failure)
  switch (verdict.kind) {
    case 'public':
      return { ...found, addresses: verdict.addresses, dnsMs }
    case 'not_public':
      return noRoute('address_not_public', { dnsMs, addressReason: verdict.reason })
    case 'not_found':
      return noRoute('name_not_found', { dnsMs })
    case 'no_answer':
      return noRoute('name_unanswered')
  }
}
