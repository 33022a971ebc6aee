import assert from 'node:assert/strict'
import { type ApiResponse, freshOwner, sharedApi, startApi, TEST_PASSWORD } from '../support/api.ts'
import { loggedEvents } from '../support/log.ts'
import { assertStatuses } from '../support/problem.ts'

const OWN = { origin: 'https://api.test' }
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict'

const cookieOf = (response: ApiResponse): string => response.headers.get('set-cookie')?.split(';', 1)[0] ?? ''

describe('a session in a cookie', () => {
  const api = sharedApi()
  const person = freshOwner(api)
  let cookie: string
  beforeEach(async () => {
    api.logLines.length = 0
    cookie = `__Host-session=${person.sessionToken}`
  })

  const signIn = (headers: Record<string, string> = OWN, more: object = { cookie: true }, at = api) => {
    const body = { email: person.email, password: TEST_PASSWORD, ...more }
    return at.request('POST', '/v1/session', { body, headers })
  }
  const read = (text: string, at = api) => at.request('GET', '/v1/session', { headers: { cookie: text } })

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

  it('names the cookie session, without Secure, over plain http on loopback', async () => {
    await using local = await startApi({ beside: api, env: { API_RESOURCE: 'http://localhost:8080' } })
    const response = await signIn({ origin: 'http://localhost:8080' }, { cookie: true }, local)
    const expected = new RegExp(`^session=ses_[0-9A-Za-z]{43}; Max-Age=43200; ${ATTRIBUTES}$`)
    assert.match(response.headers.getSetCookie()[0] ?? '', expected)
    assert.equal((await read(`session=${person.sessionToken}`, local)).status, 200)
    assert.equal((await read(cookie, local)).status, 401)
  })
})
