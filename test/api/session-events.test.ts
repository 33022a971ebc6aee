import assert from 'node:assert/strict'
import { hashSecret } from '#shared/oauth/ids.ts'
import { saveMembership } from '../../apps/api/accounts/people.ts'
import { sharedApi, TEST_PASSWORD, type TestPerson } from '../support/api.ts'
import { forEachTest } from '../support/block.ts'

describe('the log of sessions', () => {
  const api = sharedApi()
  const person = forEachTest(() => api.createOwner())
  beforeEach(() => {
    api.logLines.length = 0
  })

  const events = () =>
    api.logLines
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'sign_in.succeeded' || event === 'session.ended')
  const assertOnly = (lines: object[], event: object) => {
    assert.equal(lines.length, 1)
    assert.partialDeepStrictEqual(lines, [event])
  }
  const idOf = async (token: string): Promise<string> => {
    const sessions = api.db('sessions').where({ token_hash: hashSecret(token) })
    return (await sessions.first()).session_id
  }
  const signIn = () =>
    api.request('POST', '/v1/session', { body: { email: person.email, password: TEST_PASSWORD } })

  it('logs a sign-in with its method, address and session, and neither token nor password', async () => {
    const body = { email: person.email, password: 'not the password' }
    assert.equal((await api.request('POST', '/v1/session', { body })).status, 401)
    const { sessionToken } = (await signIn()).json
    const sessionId = await idOf(sessionToken)
    const seen = { userId: person.userId, sessionId, clientAddress: '127.0.0.1', level: 30 }
    assertOnly(events(), { event: 'sign_in.succeeded', how: 'password', ...seen })
    const text = api.logLines.join('')
    const hash = hashSecret(sessionToken).toString('hex')
    for (const secret of [sessionToken, hash, TEST_PASSWORD, person.email]) assert.ok(!text.includes(secret))
  })

  it('logs a sign-out, and each session of a sign-out everywhere', async () => {
    const sessionId = await idOf(person.sessionToken)
    await api.request('DELETE', '/v1/session', { token: person.sessionToken })
    const ended = { event: 'session.ended', userId: person.userId, clientAddress: '127.0.0.1', level: 30 }
    assert.partialDeepStrictEqual(events(), [{ ...ended, sessionId, why: 'signed_out' }])
    const tokens = [await api.createSession(person.userId), await api.createSession(person.userId)]
    const ids = await Promise.all(tokens.map(idOf))
    api.logLines.length = 0
    await api.request('DELETE', '/v1/session?all=true', { token: tokens[0] as string })
    assert.deepEqual(
      events()
        .map(({ sessionId }) => sessionId)
        .sort(),
      ids.sort(),
    )
    for (const event of events())
      assert.partialDeepStrictEqual(event, { ...ended, why: 'signed_out_everywhere' })
  })

  it('logs the sessions that end with the last membership, and none before', async () => {
    const [owner, other] = [await api.createOwner(), await api.createOwner()]
    const leaving = await api.createPerson({ vendorId: owner.vendorId, role: 'member' })
    const { userId } = leaving
    await saveMembership(api.db, { vendorId: other.vendorId, userId, role: 'member', status: 'active' })
    const sessionId = await idOf(leaving.sessionToken)
    const remove = (from: TestPerson) => from.request('DELETE', `people/${userId}`)
    assert.equal((await remove(owner)).status, 204)
    assert.deepEqual(events(), [])
    assert.equal((await remove(other)).status, 204)
    assertOnly(events(), { userId, sessionId, why: 'person_removed', clientAddress: '127.0.0.1' })
  })
})
