import assert from 'node:assert/strict'
import { freshOwner, sharedApi } from '../support/api.ts'
import { newKeyPair } from '../support/assertions.ts'
import { assertInvalid } from '../support/problem.ts'

describe('POST /v1/vendor/{vendor_id}/oauth-clients with a workload', () => {
  const api = sharedApi()
  const owner = freshOwner(api)

  it('trusts at most 20 issuers at once', async () => {
    const keys = { keys: [newKeyPair().jwk] }
    const create = (n: number) => {
      const workload = { issuer: `https://${n}.example`, claims: { sub: 'a' }, keys }
      return owner.request('POST', 'oauth-clients', { body: { name: 'A', scopes: ['boost:read'], workload } })
    }
    const created = await Promise.all(Array.from({ length: 21 }, (_, n) => create(n)))
    assert.deepEqual(created.map(({ status }) => status).sort(), [...Array(20).fill(201), 422])
    const refused = created.findIndex(({ status }) => status === 422)
    assertInvalid(created[refused] as (typeof created)[0], '/workload/issuer')
    const known = refused === 0 ? 1 : 0
    assert.equal((await create(known)).status, 201, 'one that it trusts already')
  })
})
