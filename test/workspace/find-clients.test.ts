import assert from 'node:assert/strict'
import { searchFor, wantedBy } from '../../apps/workspace/src/clients/find-clients.ts'

describe('what an address asks the list of clients for', () => {
  for (const sort of ['__proto__', '-constructor', 'toString', 'price'])
    it(`is the usual order if it names ${sort}`, () => {
      const { order } = wantedBy(new URLSearchParams({ sort }))
      assert.equal(order, 'added')
    })

  it('is the same after it was written and read again', () => {
    const wanted = { view: 'revoked', typed: 'a b', order: 'name', reversed: true } as const
    assert.deepEqual(wantedBy(searchFor(wanted)), wanted)
  })
})
