import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type AddressReason, createAddressRule } from '../../../apps/api/guarded-fetch/address-verdict.ts'

const check = createAddressRule()

type Range = [reason: AddressReason, first: string, last: string, before?: string | undefined, after?: string]

/** First and last address of each range of the IANA special-purpose registries, and their neighbours. */
const IPV4_RANGES: Range[] = [
  ['unspecified', '0.0.0.0', '0.255.255.255', undefined, '1.0.0.0'],
  ['private', '10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['carrier_grade_nat', '100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['loopback', '127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['link_local', '169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['private', '172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['reserved', '192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['reserved', '192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['reserved', '192.31.196.0', '192.31.196.255', '192.31.195.255', '192.31.197.0'],
  ['reserved', '192.52.193.0', '192.52.193.255', '192.52.192.255', '192.52.194.0'],
  ['reserved', '192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['private', '192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['reserved', '192.175.48.0', '192.175.48.255', '192.175.47.255', '192.175.49.0'],
  ['reserved', '198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['reserved', '198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['reserved', '203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['multicast', '224.0.0.0', '239.255.255.255', '223.255.255.255'],
  ['reserved', '240.0.0.0', '255.255.255.254'],
  ['broadcast', '255.255.255.255', '255.255.255.255'],
  ['cloud_platform', '168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
]

const FIVE = 'ffff:ffff:ffff:ffff:ffff'
const SIX = `${FIVE}:ffff`
const IPV6_RANGES: Range[] = [
  ['unspecified', '::', '::'],
  ['loopback', '::1', '::1'],
  ['reserved', '::2', '::fffe:ffff:ffff'],
  ['embeds_ipv4', '::ffff:0:0', '::ffff:ffff:ffff'],
  ['embeds_ipv4', '::ffff:0:0:0', '::ffff:0:ffff:ffff'],
  ['embeds_ipv4', '64:ff9b::', '64:ff9b::ffff:ffff'],
  ['embeds_ipv4', '64:ff9b:1::', `64:ff9b:1:${FIVE}`],
  ['reserved', '100::', '100::ffff:ffff:ffff:ffff'],
  ['embeds_ipv4', '2001::', `2001:0:${SIX}`, `2000:ffff:${SIX}`],
  ['reserved', '2001:1::', `2001:1ff:${SIX}`, undefined, '2001:200::'],
  ['reserved', '2001:db8::', `2001:db8:${SIX}`, `2001:db7:${SIX}`, '2001:db9::'],
  ['embeds_ipv4', '2002::', `2002:ffff:${SIX}`, `2001:ffff:${SIX}`, '2003::'],
  ['reserved', '2620:4f:8000::', `2620:4f:8000:${FIVE}`, `2620:4f:7fff:${FIVE}`, '2620:4f:8001::'],
  ['reserved', '3ffe::', `3ffe:ffff:${SIX}`, `3ffd:ffff:${SIX}`],
  ['reserved', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', undefined, '3fff:1000::'],
  ['private', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['link_local', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['private', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['multicast', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['embeds_ipv4', '2001:470:1f0b::5efe:a00:1', '2001:470:1f0b::5efe:ffff:ffff'],
  ['embeds_ipv4', '2001:470:1f0b:0:200:5efe:a00:1', '2001:470:1f0b:0:200:5efe:7f00:1'],
]

describe('the verdict on an address', () => {
  for (const [reason, first, last, before, after] of [...IPV4_RANGES, ...IPV6_RANGES]) {
    it(`refuses ${first} to ${last}: ${reason}`, () => {
      assert.deepEqual(check(first), { public: false, reason })
      assert.deepEqual(check(last), { public: false, reason })
    })
    for (const neighbour of [before, after])
      if (neighbour) it(`accepts ${neighbour}, beside it`, () => assert.equal(check(neighbour).public, true))
  }

  for (const address of ['1.1.1.1', '8.8.8.8', '93.184.216.34', '223.255.255.254', '2606:4700::1111'])
    it(`accepts ${address}`, () => assert.deepEqual(check(address), { public: true, address }))

  for (const [spelling, address] of [
    ['2606:4700:0000:0000:0000:0000:0000:1111', '2606:4700::1111'],
    ['2A00:1450:4001:82A::200E', '2a00:1450:4001:82a::200e'],
    ['2606:4700::1.1.1.1', '2606:4700::101:101'],
  ] as const)
    it(`gives ${spelling} one spelling`, () => assert.deepEqual(check(spelling), { public: true, address }))

  const SPELLINGS =
    '8.8.8 08.8.8.8 0x8.8.8.8 134744072 [2606:4700::1111] 2606:4700::1111%eth0 ::: ８.８.８.８'
  for (const text of ['', ...SPELLINGS.split(' ')])
    it(`refuses ${JSON.stringify(text)}, which is no address`, () =>
      assert.deepEqual(check(text), { public: false, reason: 'not_an_address' }))

  it('refuses the ranges that an operator denies, at both edges, and no neighbour', () => {
    const own = createAddressRule({ denyRanges: ['45.0.0.0/30', '2a00:1::/32', '2606:4700::1111/128'] })
    for (const address of ['45.0.0.0', '45.0.0.3', '2a00:1::', '2a00:1:ffff::', '2606:4700::1111'])
      assert.deepEqual(own(address), { public: false, reason: 'denied' }, address)
    for (const address of ['44.255.255.255', '45.0.0.4', '2a00:2::', '2606:4700::1112'])
      assert.equal(own(address).public, true, address)
  })

  it('says at construction that a denied range is not one', () => {
    assert.throws(() => createAddressRule({ denyRanges: ['45.0.0.0/33'] }))
    assert.throws(() => createAddressRule({ denyRanges: ['example.com'] }))
  })

  it('accepts an IPv4 address exactly when no listed range holds it', () => {
    const number = (address: string) => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
    const ranges = IPV4_RANGES.map(([, first, last]) => [number(first), number(last)] as const)
    fc.assert(
      fc.property(fc.nat(0xffffffff), (value) => {
        const address = [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')
        const listed = ranges.some(([first, last]) => value >= first && value <= last)
        assert.equal(check(address).public, !listed, address)
      }),
      { numRuns: 2_000 },
    )
  })

  it('accepts no IPv6 address outside 2000::/3', () =>
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const verdict = check(address)
        if (verdict.public) assert.match(verdict.address, /^[23][0-9a-f]{3}:/)
      }),
      { numRuns: 2_000 },
    ))
})
