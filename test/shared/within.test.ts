import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { within } from '#shared/process/within.ts'

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

describe('waiting for a limited time', () => {
  it('passes on the value or the error, and leaves no timer that keeps the process alive', async () => {
    // mocha sets its own once the test has begun.
    await nextTurn()
    const before = timers()
    const value = within(60_000, Promise.resolve('value'))
    const error = within(60_000, Promise.reject(new Error('why')))
    assert.equal(await value, 'value')
    await assert.rejects(error, /why/)
    assert.equal(timers(), before)
  })

  it('resolves to undefined after the time limit', async () =>
    assert.equal(await within(5, new Promise(() => {})), undefined))
})
