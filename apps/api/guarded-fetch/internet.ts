import { type AddressRule, createAddressRule } from './address-verdict.ts'
import { createResolver, type Resolve } from './resolver.ts'

/** How hosts that strangers choose are reached. */
export interface Internet {
  resolve: Resolve
  checkAddress: AddressRule
  /** Certificate authorities in PEM; Node's own if undefined. */
  certificateAuthority?: string | undefined
}

/**
 * Returns the real name servers and rules, except those given.
 * @param denyRanges more CIDR ranges that nothing is sent to.
 */
export const createInternet = (
  denyRanges: readonly string[],
  {
    resolve = createResolver(),
    checkAddress = createAddressRule({ denyRanges }),
    certificateAuthority,
  }: Partial<Internet>,
): Internet => ({ resolve, checkAddress, certificateAuthority })
