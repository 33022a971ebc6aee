import { strict as assert } from 'node:assert'
import { ApiProblem, retryIn } from '../../apps/workspace/src/api/request.ts'
import { duration, relative } from '../../apps/workspace/src/api/time.ts'

const NOW = new Date('2026-11-22T12:00:00Z')
const at = (seconds: number) => relative(new Date(NOW.getTime() + seconds * 1_000), NOW)

describe('workspace: times in words', () => {
  it('rounds an age down', () => {
    assert.equal(at(-119), '1 minute ago')
    assert.equal(at(-7_199), '1 hour ago')
    assert.equal(at(-2 * 86_400 + 1), 'yesterday')
    assert.equal(at(-59), 'just now')
  })

  it('rounds a time to come to the nearest', () => {
    assert.equal(at(2 * 86_400 - 60), 'in 2 days')
    assert.equal(at(90 * 60 - 60), 'in 1 hour')
  })

  it('counts days up to two months, and months up to two years', () => {
    assert.equal(at(-40 * 86_400), '40 days ago')
    assert.equal(at(-700 * 86_400), '23 months ago')
    assert.equal(at(-731 * 86_400), '2 years ago')
  })

  it('rounds a duration down', () => {
    assert.equal(duration(119), '1 minute')
    assert.equal(duration(59.9), '59 seconds')
    assert.equal(duration(2 * 86_400 - 1), '47 hours')
    assert.equal(duration(3 * 86_400 - 1), '2 days')
  })

  it('never says to try again too early', () => {
    const limited = (seconds?: number) => {
      const headers = seconds === undefined ? {} : { 'retry-after': String(seconds) }
      return retryIn(new ApiProblem(new Response(null, { status: 429, headers }), {}))
    }
    assert.equal(limited(45), 'in 45 seconds')
    assert.equal(limited(91), 'in about 2 minutes')
    assert.equal(limited(120), 'in about 2 minutes')
    assert.equal(limited(), 'in a while')
  })
})
