import assert from 'node:assert/strict'
import { sharedApi, startApi } from '../support/api.ts'
import { assertProblem } from '../support/problem.ts'

describe('GET /v1/session', () => {
  const api = sharedApi()

  it('ends a session after 12 hours, however much it is used', async () => {
    const { sessionToken } = await api.createPerson()
    const status = async () => (await api.request('GET', '/v1/session', { token: sessionToken })).status
    api.clock.advance(11 * 3_600_000)
    assert.equal(await status(), 200)
    api.clock.advance(3_600_000 - 1)
    assert.equal(await status(), 200)
    api.clock.advance(1)
    assert.equal(await status(), 401)
  })

  it('does not find a session by its stored hash', async () => {
    const { userId } = await api.createPerson()
    const { token_hash: hash } = await api.db('sessions').where({ user_id: userId }).first()
    const text = hash.toString('base64url')
    for (const token of [hash.toString('hex'), text, `ses_${text}`])
      assertProblem(await api.request('GET', '/v1/session', { token }), 'unauthenticated')
  })
})

describe('DELETE /v1/session', () => {
  const api = sharedApi()

  it('ends the session at once, at every process, and no other', async () => {
    await using second = await startApi({ beside: api })
    const { sessionToken, userId } = await api.createPerson()
    const other = await api.createSession(userId)
    const response = await api.request('DELETE', '/v1/session', { token: sessionToken })
    assert.deepEqual([response.status, response.text], [204, ''])
    for (const at of [api, second])
      for (const method of ['GET', 'DELETE'])
        assertProblem(await at.request(method, '/v1/session', { token: sessionToken }), 'unauthenticated')
    assert.equal((await second.request('GET', '/v1/session', { token: other })).status, 200)
  })
})
