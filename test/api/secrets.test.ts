import assert from 'node:assert/strict'
import { startApi, TEST_PASSWORD } from '../support/api.ts'
import { assertProblem } from '../support/problem.ts'

describe('what the logs of the resource API hold', () => {
  it('logs no password, secret or token, whatever is sent and however it is refused', async () => {
    await using api = await startApi()
    const person = await api.createOwner()
    const { vendorId } = person
    const accessToken = await api.issuer.token(await person.createClient())
    const clients = `/v1/vendor/${vendorId}/oauth-clients`
    const daily = `/v1/analytics/${vendorId}/daily`

    const body = { email: person.email, password: TEST_PASSWORD }
    const signedIn = await api.request('POST', '/v1/session', { body })
    const created = await api.request('POST', clients, {
      token: person.sessionToken,
      body: { name: 'x', scopes: ['analytics:read'] },
      headers: { 'idempotency-key': 'a-secret-idempotency-key' },
    })
    const { sessionToken } = signedIn.json
    const { clientSecret } = created.json
    await api.request('GET', daily, { token: accessToken })
    for (const search of [`?access_token=${accessToken}&from=${clientSecret}`, `?from=${clientSecret}`])
      await api.request('GET', daily + search, { token: accessToken })
    await api.request('GET', `/v1/analytics/${clientSecret}/daily`, { token: `${accessToken}x` })
    await api.request('GET', `/${clientSecret}/${sessionToken}`, { token: sessionToken })
    await api.request('POST', '/v1/session', { body: { email: person.email, password: `${TEST_PASSWORD}!` } })
    await api.request('POST', '/v1/session', { body: `{"password":"${TEST_PASSWORD}` })
    await api.request('POST', clients, { token: sessionToken, body: { [clientSecret]: TEST_PASSWORD } })
    await api.request('GET', '/v1/session', { token: `${sessionToken}x`, headers: { cookie: sessionToken } })
    await api.request('GET', '/v1/session', { headers: { 'x-request-id': sessionToken.slice(0, 20) } })
    await api.request('DELETE', '/v1/session', { token: sessionToken })

    const log = api.logLines.join('')
    assert.ok(api.logLines.length >= 13)
    const [, payload = '', signature = ''] = accessToken.split('.')
    for (const [what, secret] of Object.entries({
      password: TEST_PASSWORD,
      clientSecret,
      sessionToken,
      otherSession: person.sessionToken,
      payload,
      signature,
      idempotencyKey: 'a-secret-idempotency-key',
      email: person.email,
    }))
      assert.equal(log.includes(secret), false, what)
  })

  it('answers nothing about an unforeseen failure, which the log names', async () => {
    await using api = await startApi()
    const owner = await api.createOwner()
    await api.db.raw('alter table activity rename column detail to hunter2')
    const response = await owner.request('GET', 'activity')
    assertProblem(response, 'internal')
    assert.doesNotMatch(response.text, /detail does not exist|select|activity|column/i)
    const logged = api.logLines.filter((line) => line.includes('"problem":"internal"'))
    assert.ok(logged.some((line) => line.includes('a.detail does not exist')))
  })
})
