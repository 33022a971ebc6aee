import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { configureOpenid } from '../../apps/api/sign-in-openid/provider.ts'
import type { OpenidSettings } from '../../apps/api/sign-in-openid/settings.ts'
import { type ApiResponse, startApi, TEST_PASSWORD } from '../support/api.ts'
import { forBlock } from '../support/block.ts'
import { passing } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { OPENID_CLIENT, type TestOpenidProvider } from '../support/openid-provider.ts'
import { assertProblem } from '../support/problem.ts'
import { SILENT_DATABASE } from '../support/stores.ts'
import { assertOutcome, CALLBACK, OWN, PAGE, sharedOpenidSignIns } from './openid-sign-ins.ts'

const METADATA = '/.well-known/openid-configuration'

type MakeIdToken = (claims: JWTPayload) => Promise<string | undefined> | string

describe('an OpenID provider', () => {
  const all = sharedOpenidSignIns()
  const { api, provider, person, begin, approve, atProvider, finish } = all
  let slow: Promise<{ response: ApiResponse; took_ms: number }>
  let slowStore: typeof slow
  /** How often the slow sign-in's provider sent a byte, which is every 500 ms at most. */
  let drips = 0
  before(async () => {
    slow = (await slowSignIn()).ended
    slowStore = (await signInToSlowStore()).ended
  })

  async function timed(answer: Promise<ApiResponse>): typeof slow {
    const started_ms = performance.now()
    return { response: await answer, took_ms: performance.now() - started_ms }
  }

  /** A sign-in whose token is sent byte by byte. It goes on beside the other tests. */
  async function slowSignIn(): Promise<{ ended: typeof slow }> {
    const { back, cookie } = await approve()
    const asked = Promise.withResolvers<void>()
    provider.answerNext('/token', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const drip = setInterval(() => {
        drips += 1
        response.write(' ')
      }, 500)
      response.on('close', () => clearInterval(drip))
      asked.resolve()
    })
    const ended = timed(finish(back, cookie))
    await asked.promise
    return { ended }
  }

  /** A sign-in whose statements are each in time, but not together. It runs beside the other tests. */
  async function signInToSlowStore(): Promise<{ ended: typeof slow }> {
    const subject = all.person({ org: 'full.example', name: 'Slow' })
    await api.db.raw(
      `create function wait() returns trigger language plpgsql as
         $$ begin perform pg_sleep(3.5); return new; end $$;
       create trigger wait before insert on users for each row when (new.name = 'Slow') execute function wait();
       create trigger wait before insert on openid_identities for each row when (new.subject = '${subject}')
         execute function wait();
       create trigger wait before insert on activity for each row when (new.detail->>'name' = 'Slow')
         execute function wait()`,
    )
    const begun = await begin()
    const ended = timed(finish(await atProvider(begun, subject), begun.cookie))
    const sleeping = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
    // The provider's next answer to the tests must not go to this one.
    await eventually(async () => (await api.db.raw(sleeping)).rows.length > 0)
    return { ended }
  }

  const now_s = () => Math.floor(Date.now() / 1_000)
  const json = (response: ServerResponse, body: unknown, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
  /** Signs in, but the token endpoint answers with this ID token. */
  async function withIdToken(make: MakeIdToken, more: Record<string, unknown> = {}): Promise<ApiResponse> {
    const begun = await begin()
    const subject = person()
    const back = await atProvider(begun, subject)
    const id_token = await make({
      iss: provider.issuer,
      aud: OPENID_CLIENT.id,
      sub: subject,
      nonce: begun.authorizationUrl.searchParams.get('nonce'),
      iat: now_s(),
      exp: now_s() + 600,
      ...provider.people.get(subject),
    } as JWTPayload)
    const tokens = { access_token: 'an-access-token', token_type: 'Bearer', ...(id_token && { id_token }) }
    provider.answerNext('/token', (_request, response) => json(response, { ...tokens, ...more }))
    return finish(back, begun.cookie)
  }

  it('accepts a provider that sends all claims in the ID token, of either spelling of its type', async () => {
    for (const header of [{}, { typ: 'JWT' }, { typ: 'jwt' }])
      assertOutcome(await withIdToken((claims) => provider.idToken(claims, header)), 'done')
  })

  it('takes no sign-in for later than now, whatever the provider’s clock says', async () => {
    const ahead_s = now_s() + 3_600
    const signedIn = await withIdToken((claims) => provider.idToken({ ...claims, auth_time: ahead_s }))
    const { user } = await all.sessionOf(signedIn)
    const [session] = await api.db('sessions').where({ user_id: user.userId })
    assert.ok(session.authenticated_at <= session.created_at)
  })

  it('refuses an ID token that cannot be trusted', async () => {
    const stranger = (await generateKeyPair('ES256')).privateKey
    const secret = new TextEncoder().encode(OPENID_CLIENT.secret)
    for (const [what, make] of Object.entries<MakeIdToken>({
      'signed by somebody else': (claims) => provider.idToken(claims, {}, stranger),
      'of a key that is not published': (claims) => provider.idToken(claims, { kid: 'other' }, stranger),
      'signed with the client secret': (claims) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret),
      'not signed': (claims) => new UnsecuredJWT(claims).encode(),
      'of another issuer': (claims) => provider.idToken({ ...claims, iss: 'https://evil.test' }),
      'with an empty subject': (claims) => provider.idToken({ ...claims, sub: '' }),
      'with half a pair in its subject': (claims) => provider.idToken({ ...claims, sub: 'a\ud83d' }),
      'issued to another client': (claims) => provider.idToken({ ...claims, azp: 'another' }),
      'that is an access token': (claims) => provider.idToken(claims, { typ: 'at+jwt' }),
      'issued an hour ahead': (claims) => provider.idToken({ ...claims, iat: now_s() + 3_600 }),
      'for another client': (claims) => provider.idToken({ ...claims, aud: 'another' }),
      'for several clients, with another one as the authorized party': (claims) =>
        provider.idToken({ ...claims, aud: [OPENID_CLIENT.id, 'another'], azp: 'another' }),
      'of another sign-in': (claims) => provider.idToken({ ...claims, nonce: 'another' }),
      'without a nonce': (claims) => provider.idToken({ ...claims, nonce: undefined }),
      expired: (claims) => provider.idToken({ ...claims, exp: now_s() - 60 }),
      'without a subject': (claims) => provider.idToken({ ...claims, sub: undefined as unknown as string }),
      missing: async () => undefined,
      'no token': () => 'x.y.z',
    }))
      assertOutcome(await withIdToken(make), 'not_trusted', '/', what)
  })

  it('refuses a provider that sends more than 256 KiB', async () => {
    const padded = (length: number) =>
      withIdToken((claims) => provider.idToken(claims), { padding: 'x'.repeat(length) })
    assertOutcome(await padded(250_000), 'done')
    assertOutcome(await padded(263_000), 'not_trusted')
  })

  it('refuses rubbish from a provider, and reports one that does not answer', async () => {
    const CLIENT_REFUSED = { error: 'invalid_client', error_description: '<x>' }
    const elsewhere = `${provider.issuer}/elsewhere`
    for (const [outcome, answer] of [
      ['not_trusted', (_q, response) => json(response, '{"access_token":')],
      ['not_trusted', (_q, response) => json(response, '[]')],
      ['not_trusted', (_q, response) => json(response, CLIENT_REFUSED, 401)],
      ['not_trusted', (_q, response) => void response.writeHead(204).end()],
      ['not_trusted', (_q, response) => void response.writeHead(205).end()],
      ['not_trusted', (_q, response) => void response.writeHead(302, { location: elsewhere }).end()],
      ['unreachable', (_q, response) => json(response, { error: 'server_error' }, 503)],
      ['unreachable', (_q, response) => void response.writeHead(502).end('<html>')],
      ['unreachable', (_q, response) => void response.destroy()],
    ] as [string, Parameters<TestOpenidProvider['answerNext']>[1]][]) {
      const { back, cookie } = await approve()
      provider.answerNext('/token', answer)
      assertOutcome(await finish(back, cookie), outcome)
    }
    assert.ok(!provider.asked.includes('/elsewhere'))
  })

  it('sends its secret in the body only to a provider that takes it nowhere else', async () => {
    const metadata = await (await fetch(provider.issuer + METADATA)).json()
    for (const methods of [undefined, ['client_secret_post']]) {
      const named = { ...metadata, token_endpoint_auth_methods_supported: methods }
      api.clock.advance(-600_000)
      provider.answerNext(METADATA, (_request, response) => json(response, named))
      const { back, cookie } = await approve()
      const sent = Promise.withResolvers<(string | null | undefined)[]>()
      provider.answerNext('/token', async (request, response) => {
        const inBody = new URLSearchParams(await text(request)).get('client_secret')
        sent.resolve([inBody, request.headers.authorization?.slice(0, 6)])
        json(response, {}, 401)
      })
      await finish(back, cookie)
      assert.deepEqual(await sent.promise, methods ? [OPENID_CLIENT.secret, undefined] : [null, 'Basic '])
    }
  })

  it('starts no sign-in with unusable provider metadata', async () => {
    const metadata = await (await fetch(provider.issuer + METADATA)).json()
    for (const wrong of [
      { ...metadata, issuer: 'https://evil.test' },
      { ...metadata, issuer: `${metadata.issuer}/` },
      { ...metadata, authorization_endpoint: 'javascript:alert(1)' },
      { ...metadata, authorization_endpoint: 'http://provider.test/authorize' },
      { ...metadata, token_endpoint: 'http://169.254.169.254/token' },
      { ...metadata, jwks_uri: undefined },
      'rubbish',
    ]) {
      // The metadata is remembered for ten minutes, and not longer if the clock is set back.
      api.clock.advance(wrong === 'rubbish' ? -12_000_000 : 600_000)
      provider.answerNext(METADATA, (_request, response) => json(response, wrong))
      const response = await api.request('POST', '/v1/session/openid', { body: {}, headers: OWN })
      assertProblem(response, 'unavailable')
      assert.ok(!response.text.includes('evil') && !response.text.includes('169.254'))
    }
    assert.equal((await begin()).authorizationUrl.origin, provider.issuer)
  })

  describe('with claims in two documents', () => {
    const halves = async (idToken: object, userInfo: object): Promise<ApiResponse> => {
      const left = { org: undefined, email: undefined, email_verified: undefined, ...idToken }
      return withIdToken((claims) => {
        provider.answerNext('/me', (_request, response) =>
          json(response, { sub: claims.sub, org: 'acme.example', groups: 'member', ...userInfo }),
        )
        return provider.idToken({ ...claims, ...left })
      })
    }

    it('takes the address and its verification from the same document', async () => {
      const victim = 'victim@acme.example'
      const mine = { email: 'mine@acme.example', email_verified: true }
      const { user } = await all.sessionOf(await halves({ email: victim }, mine))
      assert.equal(user.email, mine.email)
      assertOutcome(await halves({ email: victim }, { email_verified: true }), 'no_email')
      assertOutcome(await halves({ email_verified: true }, { email: victim }), 'no_email')
      assertOutcome(await halves({ email: victim, email_verified: false }, mine), 'no_email')
    })

    it('prefers the claims of the ID token', async () => {
      const mine = { email: 'both@acme.example', email_verified: true }
      assertOutcome(await halves({ org: 'gone.example' }, mine), 'no_company')
    })

    it('asks for the verification of an address if only that is missing', async () => {
      const email = 'late@acme.example'
      const late = await halves({ org: 'acme.example', email }, { email, email_verified: true })
      assert.equal((await all.sessionOf(late)).user.email, email)
    })
  })

  for (const [state, level, problem, about] of [
    ['53100', 40, 'unavailable', 'database'],
    ['P0001', 50, 'internal', 'internal'],
  ] as const)
    it(`does not blame the provider for an error ${state} of the database, and logs it`, async () => {
      const subject = person()
      await api.db.raw(
        `create function fail_${state}() returns trigger language plpgsql as $$
           begin raise exception 'no more room' using errcode = '${state}'; end $$;
         create trigger fail_${state} before insert on openid_identities
           for each row when (new.subject = '${subject}') execute function fail_${state}()`,
      )
      const from = api.logLines.length
      assertOutcome(await all.signIn(subject), 'unavailable')
      const lines = api.logLines.slice(from).map((line) => JSON.parse(line))
      const failed = lines.find(({ msg }) => msg === 'request failed')
      assert.deepEqual([failed?.level, failed?.problem], [level, problem])
      assert.match(failed.error, /no more room/)
      assert.equal(lines.find(({ event }) => event === 'sign_in.failed').about, about)
    })

  it('redirects to the workspace within eight more seconds, however slow the database is', async () => {
    const { response, took_ms } = await slowStore
    // If it were given longer than the store's 10.5 s, it would succeed.
    assertOutcome(response, 'unavailable')
    assert.ok(took_ms > 7_000, String(took_ms))
    // Nor does a session start that the browser does not get.
    const open = 'select from pg_stat_activity where datname = current_database() and xact_start < now()'
    await eventually(async () => (await api.db.raw(open)).rows.length === 0)
    assert.equal(await api.db('users').where({ name: 'Slow' }).first(), undefined)
  })

  describe('with stricter or wider settings', () => {
    const settings = { OPENID_COMPANIES: '*', OPENID_EMAIL_VERIFIED: 'always', OPENID_LINK_BY_EMAIL: '' }
    const other = forBlock(() => startApi({ beside: api, env: { ...all.env, ...settings } }))
    const signInThere = (claims: Record<string, unknown>) =>
      all.signIn(all.person({ org: 'ven_initech', ...claims }), { at: other })

    it('never takes over a built-in account unless switched on', async () => {
      const there = await api.createPerson({ vendorId: 'ven_initech', role: 'member' })
      assertOutcome(await signInThere({ email: there.email }), 'account_exists')
      assert.equal(await api.db('openid_identities').where({ user_id: there.userId }).first(), undefined)
    })

    it('takes every address as verified where the provider always verifies', async () => {
      const { user } = await all.sessionOf(await signInThere({ email_verified: undefined }))
      assert.match(user.email, /^subject-\d+@acme\.example$/)
      assertOutcome(await signInThere({ email: undefined, email_verified: undefined }), 'no_email')
    })

    it('takes any existing company id as the claim, and nothing else', async () => {
      const { companies } = await all.sessionOf(await signInThere({}))
      assert.deepEqual([companies.length, companies[0].vendorId], [1, 'ven_initech'])
      for (const org of ['ven_gone', 'acme.example', '*', ['ven_initech'], undefined])
        assertOutcome(await signInThere({ org }), 'no_company')
    })
  })

  it('counts the start of a sign-in against the address limits, and not its return', async () => {
    const env = { ...all.env, RATE_SIGN_IN_PER_ADDRESS: '3/60', TRUSTED_PROXIES: '127.0.0.1' }
    await using narrow = await startApi({ beside: api, env })
    const headers = { ...OWN, 'x-forwarded-for': '203.0.113.9' }
    for (let i = 0; i < 5; i++) {
      const response = await narrow.request('GET', `${CALLBACK}?state=x&code=y`, { headers })
      assert.equal(response.headers.get('location'), `${PAGE}/#sign-in=expired`)
    }
    const start = () => narrow.request('POST', '/v1/session/openid', { body: {}, headers })
    for (let i = 0; i < 3; i++) assert.equal((await start()).status, 201)
    assertProblem(await start(), 'rate_limited')
  })

  describe('GET /v1/sign-in', () => {
    it('names the OpenID provider', async () => {
      const { json } = await api.request('GET', '/v1/sign-in')
      assert.deepEqual(json, { builtInAccounts: true, mail: false, openid: { name: 'Acme ID' } })
    })

    it('says when there is no provider, and then serves nothing of it', async () => {
      await using plain = await startApi({ beside: api })
      const { json } = await plain.request('GET', '/v1/sign-in')
      assert.deepEqual(json, { builtInAccounts: true, mail: false, openid: null })
      const asked = provider.asked.length
      const start = { body: {}, headers: OWN }
      assertProblem(await plain.request('POST', '/v1/session/openid', start), 'not_found')
      assertProblem(await plain.request('GET', `${CALLBACK}?code=x&state=y`), 'not_found')
      assert.equal(provider.asked.length, asked)
    })

    it('says when there are no built-in accounts, and then takes no password or invitation', async () => {
      await using only = await startApi({ beside: api, env: { ...all.env, BUILT_IN_ACCOUNTS: 'off' } })
      const { json } = await only.request('GET', '/v1/sign-in')
      assert.deepEqual(json, { builtInAccounts: false, mail: false, openid: { name: 'Acme ID' } })
      const owner = await api.createOwner()
      const [token, password] = [`inv_${'a'.repeat(43)}`, TEST_PASSWORD]
      for (const [path, body] of [
        ['/v1/session', { email: owner.email, password }],
        ['/v1/invitation', { token, password }],
        ['/v1/invitation/preview', { token }],
      ] as const)
        assertProblem(await only.request('POST', path, { body }), 'forbidden')
      const change = { currentPassword: password, newPassword: 'wrong donkey capacitor nail' }
      const request = { token: owner.sessionToken, body: change }
      assertProblem(await only.request('PUT', '/v1/session/password', request), 'forbidden')
      const body = { name: 'X', email: 'x@acme.example', role: 'admin' }
      assertProblem(await owner.request('POST', 'people', { body, at: only }), 'forbidden')
      await all.sessionOf(await all.signIn(person(), { at: only }))
    })
  })

  it('gives up on a provider after eight seconds, though it keeps sending', async () => {
    const { response, took_ms } = await slow
    assertOutcome(response, 'unreachable')
    assert.ok(took_ms > 7_000, String(took_ms))
    assert.ok(drips <= 20, `${drips} bytes were sent`)
  })

  it('logs nothing that the provider wrote', () => all.assertNothingLogged())
})

describe('an OpenID provider that never answers', () => {
  beforeEach(() => {
    // It does not heed the library's own deadline, which is for each request.
    mock.method(globalThis, 'fetch', () => new Promise(() => {}))
  })
  afterEach(() => mock.restoreAll())

  const settings = { issuer: 'https://id.test', clientId: 'a', clientSecret: 'b', signOut: true }
  const pending = { state: 'a', nonce: 'b', codeVerifier: 'c', to: '/', fresh: false }
  const create = () => {
    const parts = { db: SILENT_DATABASE, clock: Date, baseUrl: 'https://api.test' }
    const { provider } = configureOpenid(settings as unknown as OpenidSettings, parts)
    return { ...provider, claims: () => provider.claims('code=x', pending, { address: '192.0.2.1' }) }
  }

  for (const [step, ends_ms, ask, outcome] of [
    ['beginning to sign in', 8_000, () => create().authorizationUrl(pending), 'unreachable'],
    ['signing in', 8_000, () => create().claims(), 'unreachable'],
    ['signing out', 2_000, () => create().signOutUrl(), undefined],
    [
      'waiting for others to sign in',
      8_000,
      () => {
        const { claims } = create()
        for (let i = 0; i < 16; i++) claims().catch(() => {})
        return claims()
      },
      'unavailable',
    ],
  ] as const)
    it(`does not hold up anyone for more than ${ends_ms} ms: ${step}`, async () => {
      const asked = passing<Promise<unknown>>(ends_ms, ask).catch(({ reason }) => reason)
      assert.equal(await Promise.race([asked, nextTurn('late')]), outcome)
    })
})
