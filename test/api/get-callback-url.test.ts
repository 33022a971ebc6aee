import assert from 'node:assert/strict'
import { type Person, sharedApi } from '../support/api.ts'

describe('GET /v1/vendor/{vendor_id}/callback-url', () => {
  const api = sharedApi({
    outside: { resolve: async () => ({ addresses: [], complete: true, failure: 'not_found' }) },
  })
  let vendorId: string
  let owner: Person
  before(async () => {
    vendorId = (await api.createCompany()).vendorId
    owner = await api.createPerson({ vendorId })
  })
  const get = (token?: string, id = vendorId) =>
    api.request('GET', `/v1/vendor/${id}/callback-url`, token === undefined ? {} : { token })

  it('says that no URL was ever saved', async () => {
    const answer = await get(owner.sessionToken)
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.json, {
      vendorId,
      callbackUrl: null,
      verified: false,
      updatedAt: null,
      updatedBy: null,
    })
  })

  it('returns the saved URL, with who saved it and when', async () => {
    const admin = await api.createPerson({ vendorId, role: 'admin' })
    const saved = await api.request('PATCH', `/v1/vendor/${vendorId}/callback-url`, {
      token: admin.sessionToken,
      body: { callbackUrl: 'https://8.8.8.8:8443/hook' },
    })
    const answer = await get(owner.sessionToken)
    assert.deepEqual(answer.json, {
      vendorId,
      callbackUrl: 'https://8.8.8.8:8443/hook',
      verified: true,
      updatedAt: new Date(api.clock.now()).toISOString(),
      updatedBy: { userId: admin.userId, name: admin.name },
    })
    assert.deepEqual(saved.json, answer.json)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
  })
})
