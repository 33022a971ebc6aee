import assert from 'node:assert/strict'
import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { hashSecret } from '#shared/oauth/ids.ts'
import { type ApiResponse, startApi } from '../support/api.ts'
import { loggedEvents } from '../support/log.ts'
import { OPENID_CLIENT } from '../support/openid-provider.ts'
import { assertOutcome, cookieOf, OWN, PAGE, sharedOpenidSignIns } from '../support/openid-sign-ins.ts'
import { assertProblem } from '../support/problem.ts'

const LOGOUT = '/v1/session/openid/logout'
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

describe('signing out with an OpenID provider', () => {
  const all = sharedOpenidSignIns()
  const { api, provider } = all

  interface SignedIn {
    subject: string
    /** Of the session in the workspace. */
    cookie: string
    /** Of the browser at the provider. */
    cookies: Map<string, string>
    sid: string | null
  }
  async function signIn(subject = all.person(), at = api): Promise<SignedIn> {
    const cookies = new Map<string, string>()
    const cookie = cookieOf(await all.signIn(subject, { at, cookies }), '__Host-session') ?? ''
    const row = await rowOf(cookie)
    assert.equal(row.openid_issuer, provider.issuer)
    return { subject, cookie, cookies, sid: row.openid_sid }
  }
  const rowOf = (cookie: string) =>
    api
      .db('sessions')
      .where({ token_hash: hashSecret(cookie.split('=')[1] ?? '') })
      .first()
  const statusOf = async ({ cookie }: { cookie: string }, at = api) =>
    (await at.request('GET', '/v1/session', { headers: { cookie } })).status
  const signOut = ({ cookie }: { cookie: string }, { at = api, query = '' } = {}) =>
    at.request('DELETE', `/v1/session${query}`, { headers: { cookie, ...OWN } })

  const now_s = () => Math.floor(api.clock.now() / 1_000)
  /** undefined leaves a claim out. */
  type SomeClaims = Record<string, unknown>
  const claimsOf = (claims: SomeClaims = {}) =>
    ({
      iss: provider.issuer,
      aud: OPENID_CLIENT.id,
      iat: now_s(),
      exp: now_s() + 120,
      jti: crypto.randomUUID(),
      events: { [EVENT]: {} },
      ...claims,
    }) as JWTPayload
  const tokenOf = (claims: SomeClaims = {}, header: { typ?: string } = { typ: 'logout+jwt' }) =>
    provider.idToken(claimsOf(claims), header)
  async function send(body: string, headers: Record<string, string> = {}, at = api): Promise<ApiResponse> {
    const response = await at.request('POST', LOGOUT, {
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })
    assert.equal(response.headers.get('cache-control'), 'no-store')
    return response
  }
  const logout = async (token: string | Promise<string>, at = api) =>
    send(new URLSearchParams({ logout_token: await token }).toString(), {}, at)

  describe('DELETE /v1/session', () => {
    it('ends the session and says where to sign out at the provider, which leads back', async () => {
      const one = await signIn()
      const response = await signOut(one)
      assert.equal(response.status, 200)
      assert.equal(await rowOf(one.cookie), undefined)
      const url = new URL(response.json.signOutUrl)
      assert.equal(url.origin, provider.issuer)
      assert.deepEqual(Object.fromEntries(url.searchParams), {
        client_id: OPENID_CLIENT.id,
        post_logout_redirect_uri: `${PAGE}/`,
      })
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
        provider.answerNext('/.well-known/openid-configuration', (_request, response) =>
          response.setHeader('content-type', 'application/json').end(
            JSON.stringify({
              issuer: provider.issuer,
              authorization_endpoint: `${provider.issuer}/auth`,
              token_endpoint: `${provider.issuer}/token`,
              jwks_uri: `${provider.issuer}/jwks`,
              end_session_endpoint: endpoint,
            }),
          ),
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

  describe(`POST ${LOGOUT}`, () => {
    it('ends the session that began with the one that ended at the provider, as the provider itself reports it', async () => {
      const subject = all.person()
      const [one, other] = [await signIn(subject), await signIn(subject)]
      assert.ok(one.sid)
      assert.notEqual(one.sid, other.sid)
      const { session_id: sessionId, user_id: userId } = await rowOf(one.cookie)
      api.logLines.length = 0
      const url = new URL('/session/end', provider.issuer)
      url.search = new URLSearchParams({ client_id: OPENID_CLIENT.id }).toString()
      await provider.signOut(url.href, one.cookies)
      assert.equal(await statusOf(one), 401)
      assert.equal(await statusOf(other), 200)
      const [line] = loggedEvents(api, 'session.ended')
      assert.deepEqual([line.why, line.sessionId, line.userId], ['signed_out_at_provider', sessionId, userId])
    })

    it('ends the sessions of a sid alone', async () => {
      const [one, other] = [await signIn(), await signIn()]
      const response = await logout(tokenOf({ sid: one.sid }))
      assert.deepEqual([response.status, response.text], [200, ''])
      assert.deepEqual([await statusOf(one), await statusOf(other)], [401, 200])
    })

    it('ends all sessions that the provider began for a subject, and no others', async () => {
      const subject = all.person()
      const [one, two, other] = [await signIn(subject), await signIn(subject), await signIn()]
      const { user_id: userId } = await rowOf(one.cookie)
      const byPassword = { cookie: `__Host-session=${await api.createSession(userId)}` }
      assert.equal((await logout(tokenOf({ sub: subject }))).status, 200)
      const statuses = await Promise.all([one, two, other, byPassword].map((each) => statusOf(each)))
      assert.deepEqual(statuses, [401, 401, 200, 200])
    })

    it('ends sessions without a name of the provider with those of their subject', async () => {
      const subject = all.person()
      const [one, two] = [await signIn(subject), await signIn(subject)]
      await api.db('sessions').where({ openid_sid: one.sid }).update({ openid_sid: null })
      assert.equal((await logout(tokenOf({ sub: subject, sid: 'a session not known here' }))).status, 200)
      assert.deepEqual([await statusOf(one), await statusOf(two)], [401, 200])
    })

    it('keeps no session whose sid ended after the sign-in there, before the browser came back', async () => {
      const { subject, sid, cookies } = await signIn()
      const begun = await all.begin()
      const back = await all.atProvider(begun, subject, cookies)
      assert.equal((await logout(tokenOf({ sub: subject, sid }))).status, 200)
      const sessions = api.db('sessions').where({ openid_sid: sid })
      assertOutcome(await all.finish(back, begun.cookie), 'expired')
      assert.deepEqual(await sessions, [])
      // Not another session of the same person.
      const later = await signIn(subject)
      assert.notEqual(later.sid, sid)
      assert.equal(await statusOf(later), 200)
    })

    it('ends no session of a sid for another subject', async () => {
      const [one, other] = [await signIn(), await signIn()]
      assert.equal((await logout(tokenOf({ sub: other.subject, sid: one.sid }))).status, 200)
      assert.deepEqual([await statusOf(one), await statusOf(other)], [200, 200])
    })

    it('says the same of sessions and people that there are not', async () => {
      for (const claims of [{ sid: 'nosuch' }, { sub: 'nobody' }, { sub: 'nobody', sid: 'nosuch' }])
        assert.equal((await logout(tokenOf(claims))).status, 200)
    })

    it('ends no session of the same subject or sid that another provider began', async () => {
      const one = await signIn()
      await api
        .db('sessions')
        .where({ openid_sid: one.sid })
        .update({ openid_issuer: 'https://other.example' })
      for (const claims of [{ sid: one.sid }, { sub: one.subject }])
        assert.equal((await logout(tokenOf(claims))).status, 200)
      assert.equal(await statusOf(one), 200)
    })

    for (const typ of [undefined, 'JWT', 'logout+jwt', 'application/logout+jwt'])
      it(`accepts a token of type ${typ}`, async () => {
        const one = await signIn()
        assert.equal((await logout(tokenOf({ sid: one.sid }, typ === undefined ? {} : { typ }))).status, 200)
        assert.equal(await statusOf(one), 401)
      })

    it('refuses every token that cannot be trusted, and ends nothing', async () => {
      const one = await signIn()
      const { sid, subject: sub } = one
      const stranger = (await generateKeyPair('ES256')).privateKey
      const secret = new TextEncoder().encode(OPENID_CLIENT.secret)
      const idToken = claimsOf({ sub, sid, nonce: 'n', events: undefined })
      for (const [what, token] of Object.entries<string | Promise<string>>({
        'signed by somebody else': provider.idToken(claimsOf({ sub, sid }), {}, stranger),
        'of a key that is not published': provider.idToken(claimsOf({ sub, sid }), { kid: 'other' }),
        'signed with the client secret': new SignJWT(claimsOf({ sub, sid }))
          .setProtectedHeader({ alg: 'HS256' })
          .sign(secret),
        'not signed': new UnsecuredJWT(claimsOf({ sub, sid })).encode(),
        'an ID token': provider.idToken(idToken),
        'an ID token without a nonce': provider.idToken(claimsOf({ sub, sid, events: undefined })),
        'of another type': tokenOf({ sub, sid }, { typ: 'at+jwt' }),
        'of an odd type': tokenOf({ sub, sid }, { typ: 'x/logout+jwt' }),
        'with a nonce': tokenOf({ sub, sid, nonce: 'n' }),
        'with a nonce of null': tokenOf({ sub, sid, nonce: null }),
        'of another issuer': tokenOf({ sub, sid, iss: 'https://other.example' }),
        'without an issuer': tokenOf({ sub, sid, iss: undefined }),
        'for another client': tokenOf({ sub, sid, aud: 'another' }),
        'for several clients': tokenOf({ sub, sid, aud: [OPENID_CLIENT.id, 'another'] }),
        'for nobody': tokenOf({ sub, sid, aud: undefined }),
        expired: tokenOf({ sub, sid, exp: now_s() - 121 }),
        'without an end': tokenOf({ sub, sid, exp: undefined }),
        'without a time': tokenOf({ sub, sid, iat: undefined }),
        'of the future': tokenOf({ sub, sid, iat: now_s() + 130, exp: now_s() + 300 }),
        'of long ago': tokenOf({ sub, sid, iat: now_s() - 430, exp: now_s() + 300 }),
        'without a jti': tokenOf({ sub, sid, jti: undefined }),
        'with an empty jti': tokenOf({ sub, sid, jti: '' }),
        'with a jti that is no text': tokenOf({ sub, sid, jti: 7 }),
        'without events': tokenOf({ sub, sid, events: undefined }),
        'with another event': tokenOf({ sub, sid, events: { 'https://other.example/event': {} } }),
        'with a list of events': tokenOf({ sub, sid, events: [EVENT] }),
        'with an event that is no object': tokenOf({ sub, sid, events: { [EVENT]: true } }),
        'with an inherited event': tokenOf({ sub, sid, events: EVENT }),
        'without sub and sid': tokenOf(),
        'with an empty sid': tokenOf({ sub, sid: '' }),
        'with a sid that is no text': tokenOf({ sub, sid: [sid] }),
        'with a long sub': tokenOf({ sub: 'x'.repeat(256), sid }),
        'with a NUL in it': tokenOf({ sub: `${sub}\0`, sid }),
        'no token': 'x.y.z',
        empty: '',
      })) {
        const response = await logout(token)
        assert.equal(response.status, 400, what)
        assertProblem(response, 'invalid_request')
        assert.equal(await statusOf(one), 200, what)
      }
      assert.equal((await logout(tokenOf({ sub, sid }))).status, 200)
      assert.equal(await statusOf(one), 401)
    })

    it('accepts a token until two minutes after its end, for clocks that differ', async () => {
      const { sid } = await signIn()
      assert.equal((await logout(tokenOf({ sid, exp: now_s() - 110 }))).status, 200)
    })

    it('accepts a token once', async () => {
      const subject = all.person()
      await signIn(subject)
      const token = await tokenOf({ sub: subject })
      assert.equal((await logout(token)).status, 200)
      const later = await signIn(subject)
      assertProblem(await logout(token), 'invalid_request')
      assert.equal(await statusOf(later), 200)
    })

    it('accepts a token again that a failure of the database kept from taking effect', async () => {
      const one = await signIn()
      const token = await tokenOf({ sid: one.sid })
      await api.db.raw('revoke delete on sessions from integration_api')
      try {
        assert.equal((await logout(token)).status >= 500, true)
      } finally {
        await api.db.raw('grant delete on sessions to integration_api')
      }
      assert.equal((await logout(token)).status, 200)
      assert.equal(await statusOf(one), 401)
    })

    it('refuses anything but one logout_token in a form', async () => {
      const { sid } = await signIn()
      const token = await tokenOf({ sid })
      for (const [body, type] of [
        [`logout_token=${token}&logout_token=${token}`],
        [`LOGOUT_TOKEN=${token}`],
        [''],
        [`logout_token=${token}`, 'text/plain'],
        [JSON.stringify({ logout_token: token }), 'application/json'],
      ] as const)
        assertProblem(await send(body, type ? { 'content-type': type } : {}), 'invalid_request')
      const response = await api.request('POST', `${LOGOUT}?logout_token=${token}`, {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      assertProblem(response, 'invalid_request')
      assert.equal((await send(`other=1&logout_token=${token}`)).status, 200)
    })

    it('refuses more than 16 KiB', async () => {
      const padded = async (bytes: number) => {
        const body = `logout_token=${await tokenOf({ sid: 'nosuch' })}&x=`
        return send(body + 'x'.repeat(bytes - body.length))
      }
      assert.equal((await padded(16_384)).status, 200)
      assertProblem(await padded(16_385), 'payload_too_large')
    })

    it('says 503 while the provider does not give its keys', async () => {
      await using at = await startApi({ beside: api, env: all.env })
      const one = await signIn()
      const token = await tokenOf({ sid: one.sid })
      provider.answerNext('/jwks', (_request, response) => response.writeHead(500).end())
      assertProblem(await logout(token, at), 'unavailable')
      assert.equal((await logout(token, at)).status, 200)
    })

    it('limits untrusted tokens by address, and takes a good one from there', async () => {
      const limit = { RATE_SESSION_GUESSES_PER_ADDRESS: '2/60', TRUSTED_PROXIES: '127.0.0.1' }
      await using at = await startApi({ beside: api, env: { ...all.env, ...limit } })
      const sendFrom = (address: string, token: string) =>
        send(`logout_token=${token}`, { 'x-forwarded-for': address }, at)
      const one = await signIn()
      for (const code of ['invalid_request', 'invalid_request', 'rate_limited'] as const)
        assertProblem(await sendFrom('192.0.2.1', 'x.y.z'), code)
      assertProblem(await sendFrom('192.0.2.2', 'x.y.z'), 'invalid_request')
      assert.equal((await sendFrom('192.0.2.1', await tokenOf({ sid: one.sid }))).status, 200)
      assert.equal(await statusOf(one), 401)
    })

    it('is not there without a provider', async () => {
      await using at = await startApi({ beside: api })
      assertProblem(await logout('x.y.z', at), 'not_found')
    })

    it('leaves no token in the log, and says why one was refused', async () => {
      api.logLines.length = 0
      const token = await tokenOf({ sid: 'nosuch', nonce: 'n' })
      await logout(token)
      const [line] = loggedEvents(api, 'openid_logout.refused')
      assert.deepEqual([line.level, line.reason, line.about], [30, 'not_trusted', 'nonce'])
      for (const part of token.split('.')) assert.equal(api.logLines.join('').includes(part), false)
    })
  })
})
