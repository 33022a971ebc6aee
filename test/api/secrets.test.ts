import assert from 'node:assert/strict'
import { sharedApi, startApi, TEST_PASSWORD } from '../support/api.ts'
import { assertProblem } from '../support/problem.ts'

describe('what the logs of the resource API hold', () => {
  it('logs no password, secret or token, whatever is sent and however it is refused', async () => {
    await using api = await startApi()
    const { vendorId } = await api.createCompany()
    const person = await api.createPerson({ vendorId })
    const { clientId } = await api.createClient({ vendorId })
    const accessToken = await api.issuer.token({ clientId, vendorId })
    const clients = `/v1/vendor/${vendorId}/oauth-clients`
    const daily = `/v1/analytics/${vendorId}/daily`

    const signedIn = await api.request('POST', '/v1/session', {
      body: { email: person.email, password: TEST_PASSWORD },
    })
    const created = await api.request('POST', clients, {
      token: person.sessionToken,
      body: { name: 'x', scopes: ['analytics:read'] },
      headers: { 'idempotency-key': 'a-secret-idempotency-key' },
    })
    const { sessionToken } = signedIn.json
    const { clientSecret } = created.json
    await api.request('GET', daily, { token: accessToken })
    await api.request('GET', `${daily}?access_token=${accessToken}&from=${clientSecret}`, {
      token: accessToken,
    })
    await api.request('GET', `${daily}?from=${clientSecret}`, { token: accessToken })
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
    })) {
      assert.equal(log.includes(secret), false, what)
    }
  })
})

describe('an answer to a request that failed unforeseen', () => {
  it('answers nothing about an unforeseen failure, which the log names', async () => {
    await using api = await startApi()
    const { vendorId } = await api.createCompany()
    const { sessionToken } = await api.createPerson({ vendorId })
    await api.db.raw('alter table activity rename column detail to hunter2')
    const response = await api.request('GET', `/v1/vendor/${vendorId}/activity`, { token: sessionToken })
    assertProblem(response, 'internal')
    assert.doesNotMatch(response.text, /detail does not exist|select|activity|column/i)
    const logged = api.logLines.filter((line) => line.includes('"problem":"internal"'))
    assert.ok(logged.some((line) => line.includes('a.detail does not exist')))
  })
})

describe('the database role of the resource API', () => {
  const api = sharedApi()

  for (const [what, sql] of [
    ['read signing keys', 'select * from signing_keys'],
    ['add a signing key', `insert into signing_keys values ('k', 'ES256', '{}', 'x', now(), now())`],
    ['change an activity entry', `update activity set subject = 'x'`],
    ['remove an activity entry', 'delete from activity'],
    ['empty the activity', 'truncate activity'],
    ['change the scopes of a client', `update oauth_clients set scopes = '{boost:write}'`],
    ['change the secret of a client', `update oauth_clients set secret_hash = sha256('x')`],
    ['remove a client', 'delete from oauth_clients'],
    ['make a company', `insert into companies values ('ven_x', 'x', 'UTC', 'EUR')`],
    ['change the hint of a secret', `update oauth_clients set secret_hint = 'aaaa'`],
    ['change what a client replaces', 'update oauth_clients set replaces = null'],
    ['move a membership', `update memberships set vendor_id = 'ven_x'`],
    ['make a membership another person’s', `update memberships set user_id = 'usr_x'`],
    ['change an invitation', `update invitations set role = 'admin'`],
    ['rename a person', `update users set name = 'x'`],
    ['remove a person', 'delete from users'],
    ['take over a session', `update sessions set user_id = 'usr_x'`],
    ['change the key of account names', `update account_log_key set key = sha256('x')`],
    ['move an account', `update users set user_id = 'usr_x'`],
    ['prolong a session', `update sessions set expires_at = 'infinity'`],
    ['remove a daily figure', 'delete from analytics_daily'],
    ['make a table', 'create table mine ()'],
    ['become another role', 'set role integration_auth'],
    ['read a file', `select pg_read_file('/etc/passwd')`],
  ] as const) {
    it(`may not ${what}`, async () => {
      await assert.rejects(api.apiDb.raw(sql), { code: '42501' })
    })
  }
})
