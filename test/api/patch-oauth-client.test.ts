import assert from 'node:assert/strict'
import { freshOwner, sharedApi } from '../support/api.ts'
import { forEachTest } from '../support/block.ts'
import { assertInvalid } from '../support/problem.ts'

describe('PATCH /v1/vendor/{vendor_id}/oauth-clients/{client_id}', () => {
  const api = sharedApi()
  const owner = freshOwner(api)
  const client = forEachTest(() => owner.createClient({ name: 'Before' }))

  const rename = (body: unknown, id = client.clientId) =>
    owner.request('PATCH', `oauth-clients/${id}`, { body })
  const activity = async () => (await owner.request('GET', 'activity')).json.entries

  it('gives the client another label and tells so in the activity', async () => {
    const { status, json } = await rename({ name: '  After ' })
    assert.equal(status, 200)
    assert.equal(json.name, 'After')
    assert.deepEqual((await owner.request('GET', 'oauth-clients')).json.clients, [json])
    assert.partialDeepStrictEqual((await activity())[0], {
      action: 'client.renamed',
      subject: client.clientId,
      detail: { before: { name: 'Before' }, after: { name: 'After' } },
      by: { userId: owner.userId, name: owner.name },
    })
  })

  it('leaves no entry when nothing changes', async () => {
    assert.equal((await rename({ name: 'Before' })).status, 200)
    assert.deepEqual(await activity(), [])
  })

  it('renames a revoked client too, which stays revoked', async () => {
    await owner.request('POST', `oauth-clients/${client.clientId}/revoke`)
    const { json } = await rename({ name: 'The old one' })
    assert.deepEqual([json.name, json.status], ['The old one', 'Revoked'])
  })

  for (const [what, body, pointer] of [
    ['no name', {}, '/name'],
    ['scopes', { name: 'a', scopes: ['boost:write'] }, '/scopes'],
    ['a secret', { name: 'a', secretHash: 'x' }, '/secretHash'],
  ] as const)
    it(`refuses ${what}`, async () => assertInvalid(await rename(body), pointer))
})
