import assert from 'node:assert/strict'
import { queryIn, searchFor } from '../../apps/workspace/src/clients/find-clients.ts'

describe('what an address asks the list of clients for', () => {
  for (const sort of ['__proto__', '-constructor', 'toString', 'price'])
    it(`is the usual order if it names ${sort}`, () => {
      const { order } = queryIn(new URLSearchParams({ sort }))
      assert.equal(order, 'added')
    })

  it('is the same after it was written and read again', () => {
    const query = { view: 'revoked', typed: 'a b', order: 'name', reversed: true } as const
    assert.deepEqual(queryIn(searchFor(query)), query)
  })
})
