import assert from 'node:assert/strict'
import { hoursInWords } from '#shared/rules/hours-in-words.ts'

describe('the words of a quiet time', () => {
  for (const [hours, words] of [
    [0, 'less than a minute'],
    [0.01, '1 minute'],
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
