import assert from 'node:assert/strict'
import { hashSecret } from '#shared/oauth/ids.ts'
import { touchSession } from '../../apps/api/sessions/sessions.ts'
import { readPages, sharedApi, startApi, TEST_PASSWORD } from '../support/api.ts'
import { forEachTest } from '../support/block.ts'

describe('GET /v1/sessions', () => {
  const api = sharedApi()
  const person = forEachTest(() => api.createPerson())

  const list = (search = '', token = person.sessionToken) =>
    api.request('GET', `/v1/sessions${search}`, { token })

  it('records when a session was last used, to the minute', async () => {
    const lastSeenAt = async () => (await list()).json.sessions[0].lastSeenAt
    const start = await lastSeenAt()
    api.clock.advance(59_999)
    await list()
    assert.equal(await lastSeenAt(), start)
    api.clock.advance(1)
    await list()
    const end = new Date(api.clock.now())
    assert.equal(await lastSeenAt(), end.toISOString())
    // The clock of another process is behind.
    const tokenHash = hashSecret(person.sessionToken)
    await touchSession(api.db, { tokenHash, now: new Date(start) })
    assert.deepEqual(await api.db('sessions').where('token_hash', tokenHash).pluck('last_seen_at'), [end])
  })

  it('leaves out what has ended', async () => {
    api.clock.advance(6 * 3_600_000)
    const token = await api.createSession(person.userId)
    assert.equal((await list('', token)).json.sessions.length, 2)
    api.clock.advance(6 * 3_600_000)
    assert.equal((await list('', token)).json.sessions.length, 1)
  })

  it('goes through all pages without a double or a gap', async () => {
    for (let index = 0; index < 4; index += 1) await api.createSession(person.userId)
    const sessions = await readPages<{ sessionId: string }>(list, 'sessions', 'limit=2')
    assert.equal(new Set(sessions.map(({ sessionId }) => sessionId)).size, 5)
  })

  it('cuts a user agent that is too long, and shows a foreign one as text', async () => {
    api.clock.advance(1_000)
    const body = { email: person.email, password: TEST_PASSWORD }
    const headers = { 'user-agent': `<script>${'a'.repeat(5_000)}` }
    await api.request('POST', '/v1/session', { body, headers })
    assert.equal((await list()).json.sessions[0].userAgent, `<script>${'a'.repeat(192)}`)
  })

  it('ends an unused session after SESSION_IDLE_MINUTES', async () => {
    await using api = await startApi({ env: { SESSION_IDLE_MINUTES: '120' } })
    const { sessionToken, userId } = await api.createPerson()
    const unused = await api.createSession(userId)
    const isLive = async (token: string) =>
      (await api.request('GET', '/v1/session', { token })).status === 200
    api.clock.advance(119 * 60_000)
    assert.equal(await isLive(sessionToken), true)
    api.clock.advance(60_000)
    assert.deepEqual([await isLive(unused), await isLive(sessionToken)], [false, true])
    const { sessions } = (await api.request('GET', '/v1/sessions', { token: sessionToken })).json
    assert.equal(sessions.length, 1)
    // Nor does it live on for as long as the clock is set back.
    api.clock.advance(-120 * 60_000)
    assert.equal(await isLive(sessionToken), false)
    api.clock.advance(1)
    assert.equal(await isLive(sessionToken), true)
  })
})
