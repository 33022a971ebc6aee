import assert from 'node:assert/strict'
import { type ApiResponse, freshOwner, sharedApi, startApi, TEST_PASSWORD } from '../support/api.ts'
import { loggedEvents } from '../support/log.ts'
import { assertInvalid, assertProblem, assertStatuses } from '../support/problem.ts'

const OWN = { origin: 'https://api.test' }
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict'

const cookieOf = (response: ApiResponse): string => response.headers.get('set-cookie')?.split(';', 1)[0] ?? ''

describe('a session in a cookie', () => {
  const api = sharedApi()
  const person = freshOwner(api)
  let cookie: string
  let clients: string
  beforeEach(async () => {
    api.logLines.length = 0
    cookie = `__Host-session=${person.sessionToken}`
    clients = `/v1/vendor/${person.vendorId}/oauth-clients`
  })

  const signIn = (headers: Record<string, string> = OWN, more: object = { cookie: true }, at = api) => {
    const body = { email: person.email, password: TEST_PASSWORD, ...more }
    return at.request('POST', '/v1/session', { body, headers })
  }
  const create = (headers: Record<string, string>, more: object = {}) =>
    api.request('POST', clients, { body: { name: 'x', scopes: ['boost:read'] }, headers, ...more })
  const read = (text: string, at = api) => at.request('GET', '/v1/session', { headers: { cookie: text } })

  it('sets a session cookie on request, unreadable to any script, and not in the answer', async () => {
    const response = await signIn()
    assert.equal(response.status, 201)
    assert.equal('sessionToken' in response.json, false)
    assert.equal(response.json.user.userId, person.userId)
    const expected = new RegExp(`^__Host-session=ses_[0-9A-Za-z]{43}; Max-Age=43200; ${ATTRIBUTES}; Secure$`)
    assert.match(response.headers.getSetCookie()[0] ?? '', expected)
    assert.equal((await read(cookieOf(response))).json.user.userId, person.userId)
  })

  it('ends the session whose cookie it replaces, whoever signs in, and no other', async () => {
    const elsewhere = await api.createSession(person.userId)
    const next = await api.createPerson()
    const again = await signIn({ ...OWN, cookie })
    const byNext = await signIn({ ...OWN, cookie: cookieOf(again) }, { cookie: true, email: next.email })
    const [replaced, live] = [cookieOf(again), cookieOf(byNext)]
    const answers = [cookie, replaced, `__Host-session=${elsewhere}`, live].map((text) => read(text))
    assertStatuses(await Promise.all(answers), 401, 401, 200, 200)
    const ended = loggedEvents(api, 'session.ended').map(({ userId, why }) => [userId, why])
    assert.deepEqual(ended, Array(2).fill([person.userId, 'replaced']))
  })

  it('leaves the session alone when signing in fails or the cookie is not replaced', async () => {
    await signIn({ ...OWN, cookie }, { cookie: true, password: 'a wrong password' })
    await signIn({ ...OWN, cookie }, {})
    assert.equal((await read(cookie)).status, 200)
  })

  it('sets no session cookie unless requested', async () => {
    for (const more of [{}, { cookie: false }]) {
      const response = await signIn({}, more)
      assert.equal(response.status, 201)
      assert.ok(response.json.sessionToken)
      assert.equal(response.headers.get('set-cookie'), null)
    }
    assertInvalid(await signIn(OWN, { cookie: 'yes' }), '/cookie')
  })

  it('names the cookie session, without Secure, over plain http on loopback', async () => {
    await using local = await startApi({ beside: api, env: { API_RESOURCE: 'http://localhost:8080' } })
    const response = await signIn({ origin: 'http://localhost:8080' }, { cookie: true }, local)
    const expected = new RegExp(`^session=ses_[0-9A-Za-z]{43}; Max-Age=43200; ${ATTRIBUTES}$`)
    assert.match(response.headers.getSetCookie()[0] ?? '', expected)
    assert.equal((await read(`session=${person.sessionToken}`, local)).status, 200)
    assert.equal((await read(cookie, local)).status, 401)
  })

  it('finds the session among other cookies, by its exact name', async () => {
    assert.equal((await read(`a=b; ${cookie}; c=d`)).status, 200)
    for (const other of [
      `session=${person.sessionToken}`,
      `x__Host-session=${person.sessionToken}`,
      `${cookie}x`,
      `a=${cookie}`,
      '__Host-session=',
      `__host-session=${person.sessionToken}`,
      '='.repeat(8_000),
    ])
      assert.equal((await read(other)).status, 401, other)
  })

  describe('that another site tries to use', () => {
    for (const [what, headers] of [
      ['without saying where from', {}],
      ['from another origin', { origin: 'https://evil.test' }],
      ['from no origin', { origin: 'null' }],
      ['from a neighbouring host', { origin: 'https://x.api.test' }],
      ['from another port', { origin: 'https://api.test:444' }],
      ['as the browser says, cross-site', { 'sec-fetch-site': 'cross-site' }],
      ['as the browser says, from the same site', { 'sec-fetch-site': 'same-site' }],
      ['as the browser says, by typing the address', { 'sec-fetch-site': 'none' }],
      ['with a forged Origin beside', { 'sec-fetch-site': 'cross-site', ...OWN }],
    ] as [string, Record<string, string>][])
      it(`changes nothing with a session cookie ${what}`, async () => {
        assertProblem(await create({ ...headers, cookie }), 'forbidden')
        const signOut = api.request('DELETE', '/v1/session', { headers: { ...headers, cookie } })
        assertProblem(await signOut, 'forbidden')
        assertProblem(await signIn(headers), 'forbidden')
        const { json } = await api.request('GET', clients, { headers: { cookie } })
        assert.deepEqual(json.clients, [])
      })
  })

  it('changes what a workspace page asks for', async () => {
    for (const headers of [OWN, { 'sec-fetch-site': 'same-origin' }] as Record<string, string>[])
      assert.equal((await create({ ...headers, cookie })).status, 201)
  })

  it('ignores the cookie beside any Bearer header', async () => {
    const other = await api.createPerson()
    const both = { token: other.sessionToken, headers: { cookie } }
    assert.equal((await api.request('GET', '/v1/session', both)).json.user.userId, other.userId)
    for (const authorization of ['Bearer x', 'Bearer', `Bearer ses_${'a'.repeat(43)}`]) {
      const refused = await api.request('GET', '/v1/session', { headers: { cookie, authorization } })
      assertProblem(refused, 'unauthenticated')
    }
    // A Bearer header cannot be sent by another site, so it needs no Origin.
    const token = person.sessionToken
    assert.equal((await create({ cookie, origin: 'https://evil.test' }, { token })).status, 201)
  })

  it('never accepts a session cookie as an access token', async () => {
    const { vendorId } = await api.createCompany()
    const response = await api.request('GET', `/v1/analytics/${vendorId}/daily`, { headers: { cookie } })
    assertProblem(response, 'unauthenticated')
  })

  it('removes the cookie and ends its session on sign-out', async () => {
    const response = await api.request('DELETE', '/v1/session', { headers: { ...OWN, cookie } })
    assert.equal(response.status, 204)
    assert.equal(response.headers.get('set-cookie'), `__Host-session=; Max-Age=0; ${ATTRIBUTES}; Secure`)
    assertProblem(await read(cookie), 'unauthenticated')
  })

  it('keeps cookie and session when another session signs out with a Bearer header', async () => {
    const token = await api.createSession(person.userId)
    const response = await api.request('DELETE', '/v1/session', { token, headers: { cookie } })
    assert.equal(response.status, 204)
    assert.equal(response.headers.get('set-cookie'), null)
    assert.equal((await read(cookie)).status, 200)
  })
})
