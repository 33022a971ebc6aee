import type { AddressRule } from './address-verdict.ts'
import type { Resolve } from './resolver.ts'

/** How hosts that strangers choose are reached. */
export interface Internet {
  resolve: Resolve
  checkAddress: AddressRule
  /** Certificate authorities in PEM; Node's own if undefined. */
  certificateAuthority?: string | undefined
}
