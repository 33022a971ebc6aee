import assert from 'node:assert/strict'
import { sharedApi } from '../support/api.ts'

describe('a request that fails for a reason of ours', () => {
  const api = sharedApi()

  it('answers 500 with a request id, and leaves message and statement to the log', async () => {
    const { vendorId } = await api.createCompany()
    const { sessionToken } = await api.createPerson({ vendorId })
    await api.db.raw('alter table activity rename to hidden_activity')
    const { status, text, json } = await api.request('GET', `/v1/vendor/${vendorId}/activity`, {
      token: sessionToken,
    })
    assert.equal(status, 500)
    assert.deepEqual([json.code, json.detail], ['internal', 'Internal error. It has been logged.'])
    assert.doesNotMatch(text, /relation|activity|select/i)
    const line = api.logLines.find((line) => line.includes(json.requestId) && line.includes('request failed'))
    assert.match(line ?? '', /relation \\"activity\\" does not exist/)
  })
})
