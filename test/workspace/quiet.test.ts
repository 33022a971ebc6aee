import assert from 'node:assert/strict'
import { hoursInWords } from '#shared/rules/hours-in-words.ts'
import { quietEnd } from '../../apps/workspace/src/clients/quiet.ts'

describe('the words of a quiet time', () => {
  for (const [hours, words] of [
    [0, 'less than a minute'],
    [0.01, '1 minute'],
    [0.03, '2 minutes'],
    [0.99, '59 minutes'],
    [1, '1 hour'],
    [23.9, '23 hours 54 minutes'],
    [47.99, '47 hours 59 minutes'],
    [48, '2 days'],
    [73, '3 days 1 hour'],
    [167.6, '7 days'],
  ] as const)
    it(`says ${words} for ${hours} quiet hours`, () => {
      assert.equal(hoursInWords(hours), words)
    })
})

describe('the end of days without use', () => {
  it('counts from the last use, or from the creation of a client that was never used', () => {
    const createdAt = '2026-11-01T00:00:00Z'
    assert.equal(quietEnd({ createdAt, lastUsedAt: null }, 7).toISOString(), '2026-11-08T00:00:00.000Z')
    const lastUsedAt = '2026-11-20T02:00:10.000Z'
    assert.equal(quietEnd({ createdAt, lastUsedAt }, 1).toISOString(), '2026-11-21T02:00:10.000Z')
  })
})
