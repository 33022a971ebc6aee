import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type AddressReason, createAddressRule } from '../../../apps/api/guarded-fetch/address-verdict.ts'
import { listed } from './spellings.ts'

const check = createAddressRule()

type Range = [reason: AddressReason, first: string, last: string, before?: string, after?: string]
const rangesOf = (heading: string) => listed(heading, /\n/).map((row) => row.split(' ') as Range)

/** First and last address of each range of the IANA special-purpose registries, and their neighbours. */
const IPV4_RANGES = rangesOf('IPv4 ranges')

describe('the verdict on an address', () => {
  for (const [reason, first, last, before, after] of [...IPV4_RANGES, ...rangesOf('IPv6 ranges')]) {
    it(`refuses ${first} to ${last}: ${reason}`, () => {
      assert.deepEqual(check(first), { public: false, reason })
      assert.deepEqual(check(last), { public: false, reason })
    })
    for (const neighbour of [before, after])
      if (neighbour && neighbour !== '-')
        it(`accepts ${neighbour}, beside it`, () => assert.equal(check(neighbour).public, true))
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
