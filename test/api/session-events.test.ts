import assert from 'node:assert/strict'
import { hashSecret } from '#shared/oauth/ids.ts'
import { type Person, startApi, TEST_PASSWORD, type TestApi } from '../support/api.ts'

describe('the log of sessions', () => {
  let api: TestApi
  let person: Person
  before(async () => {
    api = await startApi()
  })
  beforeEach(async () => {
    const { vendorId } = await api.createCompany()
    person = await api.createPerson({ vendorId, role: 'owner' })
    api.logLines.length = 0
  })
  after(() => api.stop())

  const events = () =>
    api.logLines
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'sign_in.succeeded' || event === 'session.ended')
      .map(({ event, userId, sessionId, how, why, clientAddress, level }) => ({
        event,
        userId,
        sessionId,
        ...(how && { how }),
        ...(why && { why }),
        ...(clientAddress && { clientAddress }),
        level,
      }))
  const idOf = async (token: string): Promise<string> =>
    (
      await api
        .db('sessions')
        .where({ token_hash: hashSecret(token) })
        .first()
    ).session_id
  const signIn = () =>
    api.request('POST', '/v1/session', { body: { email: person.email, password: TEST_PASSWORD } })

  it('logs a sign-in with its method, address and session, and neither token nor password', async () => {
    const { sessionToken } = (await signIn()).json
    assert.deepEqual(events(), [
      {
        event: 'sign_in.succeeded',
        userId: person.userId,
        sessionId: await idOf(sessionToken),
        how: 'password',
        clientAddress: '127.0.0.1',
        level: 30,
      },
    ])
    const text = api.logLines.join('')
    for (const secret of [
      sessionToken,
      TEST_PASSWORD,
      person.email,
      hashSecret(sessionToken).toString('hex'),
    ])
      assert.ok(!text.includes(secret))
  })

  it('logs no success for a wrong password', async () => {
    const body = { email: person.email, password: 'not the password' }
    assert.equal((await api.request('POST', '/v1/session', { body })).status, 401)
    assert.deepEqual(events(), [])
  })

  it('logs an accepted invitation', async () => {
    const { vendorId } = await api
      .db('memberships')
      .where({ user_id: person.userId })
      .first('vendor_id as vendorId')
    const invited = await api.request('POST', `/v1/vendor/${vendorId}/people`, {
      token: person.sessionToken,
      body: { name: 'Ina', email: `ina-${person.userId}@acme.example`, role: 'member' },
    })
    const accepted = await api.request('POST', '/v1/invitation', {
      body: { token: invited.json.invitationUrl.split('#')[1], password: 'a password of Ina' },
    })
    const { sessionToken, user } = accepted.json
    assert.deepEqual(
      events().map(({ event, how, userId, sessionId }) => ({ event, how, userId, sessionId })),
      [
        {
          event: 'sign_in.succeeded',
          how: 'invitation',
          userId: user.userId,
          sessionId: await idOf(sessionToken),
        },
      ],
    )
  })

  it('logs a sign-out, and each session of a sign-out everywhere', async () => {
    const sessionId = await idOf(person.sessionToken)
    await api.request('DELETE', '/v1/session', { token: person.sessionToken })
    const ended = { event: 'session.ended', userId: person.userId, clientAddress: '127.0.0.1', level: 30 }
    assert.deepEqual(events(), [{ ...ended, sessionId, why: 'signed_out' }])
    const tokens = [await api.createSession(person.userId), await api.createSession(person.userId)]
    const ids = await Promise.all(tokens.map(idOf))
    api.logLines.length = 0
    await api.request('DELETE', '/v1/session?all=true', { token: tokens[0] as string })
    assert.deepEqual(
      events().sort((a, b) => a.sessionId.localeCompare(b.sessionId)),
      ids.sort().map((id) => ({ ...ended, sessionId: id, why: 'signed_out_everywhere' })),
    )
  })
})
