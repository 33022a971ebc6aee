import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import type { ApiResponse, TestApi } from '../support/api.ts'
import { OPENID_CLIENT, type TestOpenidProvider } from '../support/openid-provider.ts'
import { assertOutcome, type OpenidSignIns, OWN, startOpenidSignIns } from '../support/openid-sign-ins.ts'
import { assertProblem } from '../support/problem.ts'

describe('an OpenID provider', () => {
  let api: TestApi
  let provider: TestOpenidProvider
  let all: OpenidSignIns
  let slow: Promise<{ response: ApiResponse; took_ms: number }>
  before(async () => {
    all = await startOpenidSignIns()
    ;({ api, provider } = all)
    slow = (await slowSignIn()).ended
  })
  after(() => all.stop())

  const person = () => all.person()
  const begin = () => all.begin()
  const atProvider: OpenidSignIns['atProvider'] = (begun, subject) => all.atProvider(begun, subject)
  const finish: OpenidSignIns['finish'] = (back, cookie) => all.finish(back, cookie)

  /** A sign-in whose token is sent byte by byte. It goes on beside the other tests. */
  async function slowSignIn(): Promise<{ ended: typeof slow }> {
    const begun = await begin()
    const back = await atProvider(begun, person())
    const asked = Promise.withResolvers<void>()
    provider.answerNext('/token', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const drip = setInterval(() => response.write(' '), 500)
      response.on('close', () => clearInterval(drip))
      asked.resolve()
    })
    const started_ms = performance.now()
    const ended = finish(back, begun.cookie).then((response) => ({
      response,
      took_ms: performance.now() - started_ms,
    }))
    await asked.promise
    return { ended }
  }

  const now_s = () => Math.floor(Date.now() / 1_000)
  const json = (response: ServerResponse, body: unknown, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
  /** Signs in, but the token endpoint answers with this ID token. */
  async function withIdToken(
    make: (claims: JWTPayload) => Promise<string | undefined> | string,
    more: Record<string, unknown> = {},
  ): Promise<ApiResponse> {
    const begun = await begin()
    const subject = person()
    const back = await atProvider(begun, subject)
    const claims = {
      iss: provider.issuer,
      aud: OPENID_CLIENT.id,
      sub: subject,
      nonce: begun.authorizationUrl.searchParams.get('nonce'),
      iat: now_s(),
      exp: now_s() + 600,
      ...provider.people.get(subject),
    } as JWTPayload
    const id_token = await make(claims)
    provider.answerNext('/token', (_request, response) =>
      json(response, {
        access_token: 'an-access-token',
        token_type: 'Bearer',
        ...(id_token && { id_token }),
        ...more,
      }),
    )
    return finish(back, begun.cookie)
  }

  it('may send all claims in the ID token', async () => {
    assertOutcome(await withIdToken((claims) => provider.idToken(claims)), 'done')
  })

  it('is refused when its ID token cannot be trusted', async () => {
    const stranger = (await generateKeyPair('ES256')).privateKey
    const secret = new TextEncoder().encode(OPENID_CLIENT.secret)
    for (const [what, make] of Object.entries<(claims: JWTPayload) => Promise<string | undefined> | string>({
      'signed by somebody else': (claims) => provider.idToken(claims, {}, stranger),
      'of a key that is not published': (claims) => provider.idToken(claims, { kid: 'other' }, stranger),
      'signed with the client secret': (claims) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret),
      'not signed': (claims) => new UnsecuredJWT(claims).encode(),
      'of another issuer': (claims) => provider.idToken({ ...claims, iss: 'https://evil.test' }),
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

  it('is refused when it sends more than 256 KiB', async () => {
    const padded = (length: number) =>
      withIdToken((claims) => provider.idToken(claims), { padding: 'x'.repeat(length) })
    assertOutcome(await padded(250_000), 'done')
    assertOutcome(await padded(263_000), 'not_trusted')
  })

  it('is refused when it answers rubbish, and reported when it does not answer', async () => {
    for (const [outcome, answer] of [
      ['not_trusted', (_q, response) => json(response, '{"access_token":')],
      ['not_trusted', (_q, response) => json(response, '[]')],
      [
        'not_trusted',
        (_q, response) => json(response, { error: 'invalid_client', error_description: '<x>' }, 401),
      ],
      [
        'not_trusted',
        (_q, response) => void response.writeHead(302, { location: `${provider.issuer}/elsewhere` }).end(),
      ],
      ['unreachable', (_q, response) => json(response, { error: 'server_error' }, 503)],
      ['unreachable', (_q, response) => void response.writeHead(502).end('<html>')],
      ['unreachable', (_q, response) => void response.destroy()],
    ] as [string, Parameters<TestOpenidProvider['answerNext']>[1]][]) {
      const begun = await begin()
      const back = await atProvider(begun, person())
      provider.answerNext('/token', answer)
      assertOutcome(await finish(back, begun.cookie), outcome)
    }
    assert.ok(!provider.asked.includes('/elsewhere'))
  })

  it('with metadata that cannot be used begins no sign-in', async () => {
    const metadata = await (await fetch(`${provider.issuer}/.well-known/openid-configuration`)).json()
    for (const wrong of [
      { ...metadata, issuer: 'https://evil.test' },
      { ...metadata, issuer: `${metadata.issuer}/` },
      { ...metadata, authorization_endpoint: 'javascript:alert(1)' },
      { ...metadata, authorization_endpoint: 'http://provider.test/authorize' },
      { ...metadata, token_endpoint: 'http://169.254.169.254/token' },
      { ...metadata, jwks_uri: undefined },
      'rubbish',
    ]) {
      // The metadata is remembered for ten minutes.
      api.clock.advance(600_000)
      provider.answerNext('/.well-known/openid-configuration', (_request, response) => json(response, wrong))
      const response = await api.request('POST', '/v1/session/openid', { body: {}, headers: OWN })
      assertProblem(response, 'unavailable')
      assert.ok(!response.text.includes('evil') && !response.text.includes('169'))
    }
    assert.equal((await begin()).authorizationUrl.origin, provider.issuer)
  })

  it('is given up after eight seconds, though it goes on sending', async () => {
    const { response, took_ms } = await slow
    assertOutcome(response, 'unreachable')
    assert.ok(took_ms > 7_000 && took_ms < 12_000, String(took_ms))
  })

  it('gets nothing of what it wrote into the log', () => all.assertNothingLogged())
})
