import assert from 'node:assert/strict'
import { type Person, sharedApi } from '../support/api.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'

describe('PATCH /v1/vendor/{vendor_id}/oauth-clients/{client_id}', () => {
  const api = sharedApi()
  let vendorId: string
  let owner: Person
  let clientId: string
  beforeEach(async () => {
    ;({ vendorId } = await api.createCompany())
    owner = await api.createPerson({ vendorId })
    ;({ clientId } = await api.createClient({ vendorId, name: 'Before' }))
  })

  const rename = (body: unknown, id = clientId) =>
    api.request('PATCH', `/v1/vendor/${vendorId}/oauth-clients/${id}`, { token: owner.sessionToken, body })
  const activity = async () =>
    (await api.request('GET', `/v1/vendor/${vendorId}/activity`, { token: owner.sessionToken })).json.entries

  it('gives the client another label and tells so in the activity', async () => {
    const { status, json } = await rename({ name: '  After ' })
    assert.equal(status, 200)
    assert.equal(json.name, 'After')
    const list = await api.request('GET', `/v1/vendor/${vendorId}/oauth-clients`, {
      token: owner.sessionToken,
    })
    assert.deepEqual(list.json.clients, [json])
    const [{ action, subject, detail, by }] = await activity()
    assert.deepEqual(
      { action, subject, detail, by },
      {
        action: 'client.renamed',
        subject: clientId,
        detail: { before: { name: 'Before' }, after: { name: 'After' } },
        by: { userId: owner.userId, name: owner.name },
      },
    )
  })

  it('leaves no entry when nothing changes', async () => {
    assert.equal((await rename({ name: 'Before' })).status, 200)
    assert.deepEqual(await activity(), [])
  })

  it('renames a revoked client too, which stays revoked', async () => {
    await api.request('POST', `/v1/vendor/${vendorId}/oauth-clients/${clientId}/revoke`, {
      token: owner.sessionToken,
    })
    const { json } = await rename({ name: 'The old one' })
    assert.equal(json.name, 'The old one')
    assert.equal(json.status, 'Revoked')
    const revoked = { client_id: clientId }
    for (const change of [
      { status: 'Active', revoked_at: null, revoked_by: null },
      { revoked_at: new Date() },
    ]) {
      await assert.rejects(api.db('oauth_clients').where(revoked).update(change), /revoked permanently/)
    }
  })

  for (const [what, body, pointer] of [
    ['no name', {}, '/name'],
    ['an empty name', { name: '  ' }, '/name'],
    ['101 characters', { name: 'a'.repeat(101) }, '/name'],
    ['two lines', { name: 'a\nb' }, '/name'],
    ['a number', { name: 1 }, '/name'],
    ['scopes', { name: 'a', scopes: ['boost:write'] }, '/scopes'],
    ['a status', { name: 'a', status: 'Active' }, '/status'],
    ['a secret', { name: 'a', secretHash: 'x' }, '/secretHash'],
  ] as const) {
    it(`refuses ${what}`, async () => {
      assertInvalid(await rename(body), pointer)
    })
  }

  it('answers the same 404 for an unknown client, another company and what is no id', async () => {
    const other = await api.createCompany()
    const foreign = await api.createClient({ vendorId: other.vendorId, name: 'Theirs' })
    for (const id of [`cli_${'a'.repeat(22)}`, foreign.clientId, 'x']) {
      assertProblem(await rename({ name: 'Mine' }, id), 'not_found')
    }
    const { name } = await api.db('oauth_clients').where({ client_id: foreign.clientId }).first('name')
    assert.equal(name, 'Theirs')
  })
})
