import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Why an address is not public, to complete "The host is …". */
export const ADDRESS_REASONS = {
  not_an_address: 'not an IP address',
  unspecified: 'an address of "this network"',
  loopback: 'a loopback address',
  private: 'a private network address',
  link_local: 'a link-local address',
  carrier_grade_nat: 'a carrier-grade NAT address, shared by customers of an internet provider',
  multicast: 'a multicast address',
  broadcast: 'the broadcast address',
  embeds_ipv4: 'an IPv6 address that embeds an IPv4 address',
  reserved: 'an address reserved for a special purpose',
  cloud_platform: 'an internal address of a cloud platform',
  denied: 'an address this service is not allowed to contact',
} as const

export type AddressReason = keyof typeof ADDRESS_REASONS

/** `address` is in canonical form, so two spellings of an address give the same text. */
export type AddressVerdict = { public: true; address: string } | { public: false; reason: AddressReason }

/** Classifies one address in the text form of net.isIP. Pure. */
export type AddressRule = (address: string) => AddressVerdict

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

/**
 * ipaddr.js's names for the IANA special-purpose registries. Any other name except `unicast` is `reserved`.
 */
const REASON_OF_RANGE: Record<string, AddressReason> = {
  unspecified: 'unspecified',
  loopback: 'loopback',
  private: 'private',
  uniqueLocal: 'private',
  deprecatedSiteLocal: 'private',
  linkLocal: 'link_local',
  carrierGradeNat: 'carrier_grade_nat',
  multicast: 'multicast',
  broadcast: 'broadcast',
  ipv4Mapped: 'embeds_ipv4',
  rfc6052: 'embeds_ipv4',
  rfc6145: 'embeds_ipv4',
  '6to4': 'embeds_ipv4',
  teredo: 'embeds_ipv4',
}

// Azure's wire server is public according to the registries, but every virtual machine reaches its host
// through it.
const CLOUD_PLATFORM = '168.63.129.16'
// RFC 4291 §2.4: all that IANA allocates as global unicast
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number]
// RFC 3701: the 6bone, returned in 2006
const RETURNED_6BONE = ipaddr.parseCIDR('3ffe::/16') as [ipaddr.IPv6, number]
// RFC 5214 §6.1: an ISATAP interface identifier is 0000:5efe or 0200:5efe and an IPv4 address.
const ISATAP = new Set(['0:5efe', '200:5efe'])

/**
 * An address is public only if every host on the internet can reach it: global unicast in the IANA
 * registries, except IPv6 addresses that embed an IPv4 address.
 * @param denyRanges further CIDR ranges to refuse: an operator's own public addresses or NAT64 prefix.
 * @throws Error if one of `denyRanges` is not a CIDR range.
 */
export function createAddressRule({ denyRanges = [] }: { denyRanges?: readonly string[] } = {}): AddressRule {
  const deniedRanges = denyRanges.map((range) => ipaddr.parseCIDR(range) as Range)
  return (text) => {
    // ipaddr.js reads more spellings than the network stack, and zone ids (RFC 4007) name a local interface.
    if (isIP(text) === 0 || text.includes('%')) return { public: false, reason: 'not_an_address' }
    const address = ipaddr.parse(text)
    const reason = specialPurpose(address) ?? (isWithin(address, deniedRanges) ? 'denied' : undefined)
    return reason ? { public: false, reason } : { public: true, address: address.toString() }
  }
}

function specialPurpose(address: ipaddr.IPv4 | ipaddr.IPv6): AddressReason | undefined {
  const range = address.range()
  if (range !== 'unicast') return REASON_OF_RANGE[range] ?? 'reserved'
  if (address instanceof ipaddr.IPv4) {
    return address.toString() === CLOUD_PLATFORM ? 'cloud_platform' : undefined
  }
  if (!address.match(GLOBAL_UNICAST) || address.match(RETURNED_6BONE)) return 'reserved'
  const [, , , , high = 0, low = 0] = address.parts
  return ISATAP.has(`${high.toString(16)}:${low.toString(16)}`) ? 'embeds_ipv4' : undefined
}

const isWithin = (address: ipaddr.IPv4 | ipaddr.IPv6, ranges: readonly Range[]): boolean =>
  ranges.some(([start, bits]) => start.kind() === address.kind() && address.match(start as never, bits))
