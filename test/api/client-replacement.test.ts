import assert from 'node:assert/strict'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import { freshOwner, sharedApi } from '../support/api.ts'
import { assertInvalid } from '../support/problem.ts'

describe('a client that replaces another', () => {
  const api = sharedApi()
  const owner = freshOwner(api)
  let old: string
  beforeEach(async () => {
    ;({ clientId: old } = await owner.createClient({ name: 'Old' }))
  })

  const create = (replaces: string) =>
    owner.request('POST', 'oauth-clients', { body: { name: 'New', scopes: ['boost:read'], replaces } })

  it('creates one replacement, however many are requested at once', async () => {
    const statuses = (await Promise.all([1, 2, 3, 4].map(() => create(old)))).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [201, 422, 422, 422])
  })

  it('creates no replacement of a client being revoked', async () => {
    const { running } = await api.db.transaction(async (transaction) => {
      await markClientRevoked(transaction, { vendorId: owner.vendorId, clientId: old, revokedBy: null })
      const replacing = create(old)
      await new Promise((resolve) => setTimeout(resolve, 200))
      return { running: replacing }
    })
    assertInvalid(await running, '/replaces')
  })
})
