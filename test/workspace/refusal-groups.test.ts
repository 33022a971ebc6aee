import { strict as assert } from 'node:assert'
import type { Refusal } from '../../apps/workspace/src/api/contract.ts'
import { dateOf, since } from '../../apps/workspace/src/api/time.ts'
import { causeWords } from '../../apps/workspace/src/clients/causes.ts'
import { groupsOf } from '../../apps/workspace/src/clients/refusal-groups.ts'

let made = 0
const refusal = (cause: string, reason: string, part: Partial<Refusal> = {}): Refusal => ({
  requestId: `r${made++}`,
  at: new Date(Date.UTC(2026, 10, 22, 12) - made * 1_000).toISOString(),
  clientId: 'cli_0000000000000000000000',
  route: 'POST /v1/oauth/token',
  status: 401,
  address: null,
  cause,
  code: 'invalid_client',
  reason,
  advice: 'Do something.',
  ...part,
})

describe('the groups of refused requests', () => {
  it('groups by reason, the latest first, with the first time and every address once', () => {
    const wrong = (address: string) => refusal('wrong_secret', 'The client secret was wrong.', { address })
    const all = [wrong('a'), refusal('expired', 'The access token had expired.'), wrong('b'), wrong('a')]
    const [first, second, ...others] = groupsOf(all)
    assert.deepEqual(others, [])
    assert.deepEqual(first, {
      newest: all[0],
      earlier: [all[2], all[3]],
      firstAt: all[3]?.at,
      addresses: ['a', 'b'],
    })
    assert.deepEqual(second, { newest: all[1], earlier: [], firstAt: all[1]?.at, addresses: [] })
  })

  it('groups reasons that differ in their numbers only, and no others', () => {
    const ahead = (time: string) =>
      refusal('assertion_from_the_future', `The clock of your system was ${time} ahead when it signed.`)
    const lacks = (scope: string) =>
      refusal('insufficient_scope', `The access token lacks the scope ${scope}.`)
    const all = [ahead('4 minutes'), ahead('1,205 minutes'), lacks('boost:read'), lacks('boost:write')]
    assert.deepEqual(
      groupsOf(all).map(({ earlier }) => earlier.length),
      [1, 0, 0],
    )
  })
})

describe('the words for a cause', () => {
  for (const [cause, words] of [
    ['wrong_secret', 'wrong secret'],
    ['no_secret', 'no credentials'],
    ['assertion_wrong_key', 'wrong key'],
    ['assertion_replayed', 'assertion replayed'],
    ['something_new', 'something new'],
  ] as const)
    it(`says ${words} for ${cause}`, () => assert.equal(causeWords(cause), words))
})

describe('since when something lasts', () => {
  const now = new Date(2026, 10, 23, 12, 0)
  for (const [at, words] of [
    [new Date(2026, 10, 23, 0, 0), '00:00'],
    [new Date(2026, 10, 22, 23, 59), 'Sun 23:59'],
    [new Date(2026, 10, 17, 12, 0), 'Tue 12:00'],
    [new Date(2026, 10, 17, 11, 59), '17 Nov 2026'],
  ] as const)
    it(`is ${words}`, () => assert.equal(since(at, now), words))

  it('writes a day as a date input has it', () => {
    assert.equal(dateOf(new Date(2026, 0, 5, 23, 59)), '2026-01-05')
  })
})
