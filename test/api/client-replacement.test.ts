import assert from 'node:assert/strict'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import { freshOwner, sharedApi } from '../support/api.ts'
import { forEachTest } from '../support/block.ts'
import { assertInvalid } from '../support/problem.ts'
import { untilBlocked } from '../support/stores.ts'

describe('a client that replaces another', () => {
  const api = sharedApi()
  const owner = freshOwner(api)
  const old = forEachTest(() => owner.createClient({ name: 'Old' }))

  const create = () => {
    const body = { name: 'New', scopes: ['boost:read'], replaces: old.clientId }
    return owner.request('POST', 'oauth-clients', { body })
  }

  it('creates one replacement, however many are requested at once', async () => {
    const statuses = (await Promise.all([1, 2, 3, 4].map(create))).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [201, 422, 422, 422])
  })

  it('creates no replacement of a client being revoked', async () => {
    const { running } = await api.db.transaction(async (transaction) => {
      const { vendorId } = owner
      await markClientRevoked(transaction, { vendorId, clientId: old.clientId, revokedBy: null })
      const replacing = create()
      await untilBlocked(api.db)
      return { running: replacing }
    })
    assertInvalid(await running, '/replaces')
  })
})
