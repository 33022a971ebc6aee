import assert from 'node:assert/strict'
import { unusableHash } from '../../apps/api/accounts/passwords.ts'
import { type ApiResponse, freshApi, TEST_PASSWORD } from '../support/api.ts'
import { assertProblem } from '../support/problem.ts'
import { readCookie } from './openid-sign-ins.ts'

const DAY_MS = 24 * 3_600_000
const OWN = { origin: 'https://api.test' }
const from = (address: string) => ({ 'x-forwarded-for': address })

describe('a browser that the account has signed in from', () => {
  const limits = { RATE_SIGN_IN_STRANGERS_PER_ACCOUNT: '3/60', RATE_SIGN_IN_PER_ACCOUNT: '5/60' }
  const api = freshApi({ env: { ...limits, TRUSTED_PROXIES: '127.0.0.1' } })
  let email: string
  let browser: string
  beforeEach(async () => {
    ;({ email } = await api.createPerson())
    browser = browserOf(await signIn('192.0.2.1'))
  })

  const browserOf = (response: ApiResponse): string => {
    assert.equal(response.status, 201)
    return readCookie(response, '__Host-browser') ?? ''
  }
  const signIn = (
    address: string,
    { cookie = '', password = TEST_PASSWORD, account = email } = {},
  ): Promise<ApiResponse> =>
    api.request('POST', '/v1/session', {
      body: { email: account, password, cookie: true },
      headers: { ...OWN, ...from(address), ...(cookie && { cookie }) },
    })
  /** Uses up what strangers may try. */
  async function guess(): Promise<void> {
    for (const host of [1, 2, 3]) await signIn(`198.51.100.${host}`, { password: 'wrong' })
    assertProblem(await signIn('198.51.100.9'), 'rate_limited')
  }

  it('signs in from any new address, however many strangers have guessed', async () => {
    await guess()
    browserOf(await signIn('203.0.113.1', { cookie: browser }))
    browserOf(await signIn('203.0.113.2', { cookie: `${browser}; other=1` }))
  })

  it('is known by a cookie that no script, other site or neighbouring host can use', async () => {
    const response = await signIn('192.0.2.1')
    const cookie = response.headers.getSetCookie().find((one) => one.startsWith('__Host-browser='))
    const ATTRIBUTES = 'Max-Age=34560000; Path=/; HttpOnly; SameSite=Strict; Secure'
    const expected = new RegExp(`^__Host-browser=([A-Za-z0-9_-]{43}); ${ATTRIBUTES}$`)
    const value = expected.exec(cookie ?? '')?.[1] ?? assert.fail(cookie)
    const addresses = await api.db('sign_in_addresses').pluck('address')
    for (const place of [addresses.join(), api.logLines.join()]) assert.ok(!place.includes(value))
  })

  it('is not recognised by a made-up cookie', async () => {
    await guess()
    const madeUp = `__Host-browser=${'A'.repeat(43)}`
    for (const cookie of [madeUp, `${browser}A`, 'browser=x', browser.slice(0, -1)])
      assertProblem(await signIn('203.0.113.1', { cookie }), 'rate_limited')
  })

  it('is a stranger to other accounts', async () => {
    await guess()
    const ofOther = browserOf(await signIn('192.0.2.7', { account: (await api.createPerson()).email }))
    assertProblem(await signIn('203.0.113.1', { cookie: ofOther }), 'rate_limited')
  })

  it('serves several people who share it', async () => {
    await guess()
    const other = await api.createPerson()
    assert.equal(browserOf(await signIn('192.0.2.7', { account: other.email, cookie: browser })), browser)
    browserOf(await signIn('203.0.113.1', { cookie: browser }))
  })

  it('limits guesses as for one address, from all addresses together, apart from strangers’ guesses', async () => {
    for (const [host, expected] of [401, 401, 401, 401, 401, 429].entries()) {
      const { status } = await signIn(`203.0.113.${host}`, { cookie: browser, password: 'wrong' })
      assert.equal(status, expected)
    }
    assertProblem(await signIn('203.0.113.7', { cookie: browser }), 'rate_limited')
    browserOf(await signIn('203.0.113.8'))
  })

  it('does not let whoever made another account of the same address guess at this one', async () => {
    const other = await api.createPerson()
    const ofOther = browserOf(await signIn('192.0.2.7', { account: other.email }))
    await api.db('users').where({ user_id: other.userId }).update({ email, password_hash: unusableHash() })
    await guess()
    assert.equal((await signIn('203.0.113.1', { cookie: ofOther })).status, 401)
    browserOf(await signIn('203.0.113.1', { cookie: browser }))
  })

  it('is forgotten after 400 days', async () => {
    api.clock.advance(399 * DAY_MS)
    await guess()
    browser = browserOf(await signIn('203.0.113.1', { cookie: browser }))
    api.clock.advance(401 * DAY_MS)
    assertProblem(await signIn('203.0.113.1', { cookie: browser }), 'rate_limited')
  })
})
