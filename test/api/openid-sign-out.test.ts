import assert from 'node:assert/strict'
import { hashSecret } from '#shared/oauth/ids.ts'
import { startApi } from '../support/api.ts'
import { OPENID_CLIENT } from '../support/openid-provider.ts'
import { OWN, PAGE, readCookie, sharedOpenidSignIns } from './openid-sign-ins.ts'

describe('DELETE /v1/session with an OpenID provider', () => {
  const all = sharedOpenidSignIns()
  const { api, provider } = all

  /** Returns the cookie of the session in the workspace, and the browser's cookies at the provider. */
  async function signIn(subject = all.person(), at = api) {
    const cookies = new Map<string, string>()
    const cookie = readCookie(await all.signIn(subject, { at, cookies }), '__Host-session') ?? ''
    assert.equal((await rowOf(cookie)).openid_issuer, provider.issuer)
    return { cookie, cookies }
  }
  const rowOf = (cookie: string) =>
    api
      .db('sessions')
      .where({ token_hash: hashSecret(cookie.split('=')[1] ?? '') })
      .first()
  const signOut = ({ cookie }: { cookie: string }, { at = api, query = '' } = {}) =>
    at.request('DELETE', `/v1/session${query}`, { headers: { cookie, ...OWN } })

  it('ends the session and says where to sign out at the provider, which leads back', async () => {
    const one = await signIn()
    const response = await signOut(one)
    assert.equal(response.status, 200)
    assert.equal(await rowOf(one.cookie), undefined)
    const url = new URL(response.json.signOutUrl)
    assert.equal(url.origin, provider.issuer)
    const expected = { client_id: OPENID_CLIENT.id, post_logout_redirect_uri: `${PAGE}/` }
    assert.deepEqual(Object.fromEntries(url.searchParams), expected)
    assert.equal((await provider.signOut(url.href, one.cookies)).href, `${PAGE}/`)
  })

  it('does so when all sessions of the person end, too', async () => {
    const subject = all.person()
    const [one, other] = [await signIn(subject), await signIn(subject)]
    const response = await signOut(one, { query: '?all=true' })
    assert.equal(response.status, 200)
    assert.equal(new URL(response.json.signOutUrl).origin, provider.issuer)
    assert.equal(await rowOf(other.cookie), undefined)
  })

  it('says nothing of the provider to someone who signed in with a password', async () => {
    const { sessionToken } = await api.createPerson()
    const response = await signOut({ cookie: `__Host-session=${sessionToken}` })
    assert.deepEqual([response.status, response.text], [204, ''])
  })

  it('says nothing of the provider where OPENID_SIGN_OUT is off', async () => {
    await using at = await startApi({ beside: api, env: { ...all.env, OPENID_SIGN_OUT: 'off' } })
    assert.equal((await signOut(await signIn(), { at })).status, 204)
  })

  for (const [what, endpoint] of [
    ['names no place to sign out', undefined],
    ['names an insecure place', 'http://evil.test/end'],
    ['names something else', 'javascript:alert(1)'],
  ] as const)
    it(`only ends the session when the provider ${what}`, async () => {
      await using at = await startApi({ beside: api, env: all.env })
      const { issuer } = provider
      const [authorization_endpoint, token_endpoint] = [`${issuer}/auth`, `${issuer}/token`]
      const endpoints = { authorization_endpoint, token_endpoint, jwks_uri: `${issuer}/jwks` }
      const metadata = JSON.stringify({ issuer, ...endpoints, end_session_endpoint: endpoint })
      provider.answerNext('/.well-known/openid-configuration', (_request, response) =>
        response.setHeader('content-type', 'application/json').end(metadata),
      )
      const one = await signIn()
      assert.equal((await signOut(one, { at })).status, 204)
      assert.equal(await rowOf(one.cookie), undefined)
    })

  it('only ends the session when the provider does not answer', async () => {
    await using at = await startApi({ beside: api, env: all.env })
    provider.answerNext('/.well-known/openid-configuration', () => {})
    const one = await signIn()
    assert.equal((await signOut(one, { at })).status, 204)
    assert.equal(await rowOf(one.cookie), undefined)
  })
})
