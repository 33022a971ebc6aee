import assert from 'node:assert/strict'
import { startApi, type TestApi } from '../support/api.ts'

describe('paths that nothing serves', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  it('answers 404 as a problem', async () => {
    const response = await api.request('GET', '/v1/nothing')
    assert.equal(response.status, 404)
    assert.equal(response.headers.get('content-type'), 'application/problem+json')
    assert.deepEqual(response.json, {
      type: 'https://api.test/docs#problem-not_found',
      title: 'There is nothing here',
      status: 404,
      detail: 'Nothing is served at this path.',
      code: 'not_found',
      requestId: response.headers.get('x-request-id'),
    })
  })
})
