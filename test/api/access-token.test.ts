import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { exportSPKI, importJWK } from 'jose'
import { type ApiResponse, sharedApi, startApi, TEST_TIMINGS } from '../support/api.ts'
import { encode } from '../support/assertions.ts'
import { forBlock } from '../support/block.ts'
import type { TokenOptions } from '../support/issuer.ts'
import { assertAlike, assertProblem } from '../support/problem.ts'
import { revokeToken, startTestProcess } from '../support/revocation.ts'

const METADATA = 'resource_metadata="https://api.test/.well-known/oauth-protected-resource"'
const CHALLENGE = `Bearer realm="https://api.test", ${METADATA}`

describe('an access token at GET /v1/analytics/{vendor_id}/daily', () => {
  const api = sharedApi()
  const client = forBlock(() => api.createClient())

  const path = () => `/v1/analytics/${client.vendorId}/daily`
  const signed = (options?: TokenOptions) => api.issuer.token(client, options)
  const read = (token?: string, headers: Record<string, string> = {}) =>
    api.request('GET', path(), { ...(token !== undefined && { token }), headers })

  function assertInvalidToken(response: ApiResponse, description: RegExp): void {
    assertProblem(response, 'invalid_token')
    const challenge = response.headers.get('www-authenticate') ?? ''
    assert.ok(challenge.startsWith(`${CHALLENGE}, error="invalid_token"`), challenge)
    assert.match(challenge, description)
  }

  it('accepts a valid token', async () => {
    const response = await read(await signed())
    assert.equal(response.status, 200)
    assert.match(response.headers.get('ratelimit-policy') ?? '', /^"api-client";q=6000;w=60$/)
    assert.match(response.headers.get('ratelimit') ?? '', /^"api-client";r=\d+;t=\d+$/)
  })

  it('accepts the typ application/at+jwt, in any case', async () =>
    assert.equal((await read(await signed({ header: { typ: 'application/AT+JWT' } }))).status, 200))

  it('challenges a request without a token, with no error code', async () => {
    const response = await read()
    assertProblem(response, 'unauthenticated')
    assert.equal(response.headers.get('www-authenticate'), CHALLENGE)
  })

  it('challenges a request with another scheme', async () =>
    assertProblem(await read(undefined, { authorization: 'Basic Zm9vOmJhcg==' }), 'unauthenticated'))

  it('takes no token from the query', async () =>
    assertProblem(await api.request('GET', `${path()}?access_token=${await signed()}`), 'unauthenticated'))

  for (const [what, token] of [
    ['with a space in it', 'a b'],
    ['with a header that is null', `${Buffer.from('null').toString('base64url')}.e30.e30`],
  ] as const)
    it(`refuses a malformed token: ${what}`, async () => assertInvalidToken(await read(token), /well-formed/))

  it('refuses an expired token, without any tolerance', async () => {
    const iat = Math.floor(api.clock.now() / 1_000)
    assertInvalidToken(await read(await signed({ claims: { exp: iat } })), /expired/)
    assert.equal((await read(await signed({ claims: { exp: iat + 1 } }))).status, 200)
  })

  it('accepts a token issued up to 120 s in the future', async () => {
    const now = Math.floor(api.clock.now() / 1_000)
    assert.equal((await read(await signed({ claims: { iat: now + 120 } }))).status, 200)
    assertInvalidToken(await read(await signed({ claims: { iat: now + 121 } })), /future/)
  })

  it('refuses a token before its nbf', async () => {
    const now = Math.floor(api.clock.now() / 1_000)
    assertInvalidToken(await read(await signed({ claims: { nbf: now + 1 } })), /not valid yet/)
  })

  for (const iss of ['https://issuer.test/', 'https://evil.test', ['https://issuer.test']])
    it(`refuses a token from the issuer ${JSON.stringify(iss)}`, async () =>
      assertInvalidToken(await read(await signed({ claims: { iss } })), /issuer/))

  for (const aud of ['https://api.test/', 'https://other.test', ['https://api.test']])
    it(`refuses a token for the audience ${JSON.stringify(aud)}`, async () =>
      assertInvalidToken(await read(await signed({ claims: { aud } })), /audience/))

  for (const typ of ['JWT', 'at+jwt;x', undefined, 'text/at+jwt'])
    it(`refuses a token with typ ${typ}`, async () =>
      assertInvalidToken(await read(await signed({ header: { typ } })), /typ at\+jwt/))

  for (const claim of ['iss', 'aud', 'sub', 'client_id', 'vendor_id', 'scope', 'iat', 'exp', 'jti']) {
    it(`refuses a token without ${claim}`, async () =>
      assertProblem(await read(await signed({ claims: { [claim]: undefined } })), 'invalid_token'))
    it(`refuses a token whose ${claim} has the wrong type`, async () =>
      assertProblem(await read(await signed({ claims: { [claim]: { a: 1 } } })), 'invalid_token'))
  }

  it('refuses a token whose sub is not its client_id', async () =>
    assertInvalidToken(await read(await signed({ claims: { sub: 'someone-else' } })), /claim/))

  it('refuses an unsigned token: alg none', async () => {
    const [, payload] = (await signed()).split('.')
    const header = encode({ typ: 'at+jwt', alg: 'none', kid: 'key-1' })
    assertInvalidToken(await read(`${header}.${payload}.`), /algorithm/)
  })

  it('refuses a token signed with the public key as HMAC secret', async () => {
    const { publicJwk, kid } = api.issuer.key
    const [, payload] = (await signed()).split('.')
    const pem = await exportSPKI((await importJWK(publicJwk, 'ES256')) as CryptoKey)
    for (const secret of [pem, JSON.stringify(publicJwk)]) {
      const header = encode({ typ: 'at+jwt', alg: 'HS256', kid })
      const mac = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url')
      assertInvalidToken(await read(`${header}.${payload}.${mac}`), /algorithm/)
    }
  })

  it('refuses a token whose algorithm is not that of its key', async () => {
    const rsa = await api.issuer.newKey(api.issuer.key.kid, 'RS256')
    assertInvalidToken(await read(await signed({ key: rsa })), /algorithm/)
  })

  it('refuses a token signed by another key', async () => {
    const key = await api.issuer.newKey(api.issuer.key.kid)
    assertInvalidToken(await read(await signed({ key })), /signature/)
  })

  /** Until the keys may be fetched again, nobody can say that a kid is unknown. */
  const fetchIsDue = () => api.clock.advance(10_000)

  it('refuses a token whose header brings the key: jwk, jku, x5u', async () => {
    const key = await api.issuer.newKey('mine')
    const url = 'http://127.0.0.1:1/keys'
    for (const extra of [{ jwk: key.publicJwk }, { jku: url }, { x5u: url }]) {
      fetchIsDue()
      assertInvalidToken(await read(await signed({ key, header: extra })), /unknown key/)
    }
  })

  it('refuses a token with an unknown critical header (RFC 7515 §4.1.11)', async () => {
    const [, payload, signature] = (await signed()).split('.')
    const header = { typ: 'at+jwt', alg: 'ES256', kid: 'key-1', crit: ['x'], x: 1 }
    assertProblem(await read(`${encode(header)}.${payload}.${signature}`), 'invalid_token')
  })

  it('refuses a token with one byte changed', async () => {
    const [header, payload = '', signature] = (await signed()).split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const forged = encode({ ...claims, vendor_id: 'ven_globex' })
    assertInvalidToken(await read(`${header}.${forged}.${signature}`), /signature/)
  })

  for (const kid of ['nobody', '__proto__', 7, undefined])
    it(`refuses a token with the unknown kid ${JSON.stringify(kid)}`, async () => {
      fetchIsDue()
      assertInvalidToken(await read(await signed({ header: { kid } })), /unknown key/)
    })

  it('refuses a session token', async () => {
    const { sessionToken } = await api.createPerson({ vendorId: client.vendorId })
    assertInvalidToken(await read(sessionToken), /well-formed/)
  })

  it('refuses a token that is in the query as well', async () => {
    const token = await signed()
    const response = await api.request('GET', `${path()}?access_token=${token}`, { token })
    assertProblem(response, 'invalid_request')
    assert.match(response.headers.get('www-authenticate') ?? '', /error="invalid_request"/)
  })

  describe('with a form', () => {
    const events = () => `/v1/analytics/${client.vendorId}/events`
    const form = { 'content-type': 'application/x-www-form-urlencoded' }

    it('refuses a token that is in the form as well', async () => {
      const token = await api.issuer.token({ ...client, scope: 'analytics:write' })
      const post = (body: string) => api.request('POST', events(), { token, headers: form, body })
      const response = await post(`a=b&access_token=${token}`)
      assertProblem(response, 'invalid_request')
      assert.match(response.headers.get('www-authenticate') ?? '', /error="invalid_request"/)
      for (const other of ['a=b', `a=${'b'.repeat(8_192)}`])
        assertProblem(await post(other), 'unsupported_media_type')
    })

    it('judges the token before it reads a stranger’s form', async () => {
      const answer = await rawRequest(api.url, [
        `POST ${events()} HTTP/1.1`,
        'Authorization: Bearer abc',
        'Content-Type: application/x-www-form-urlencoded',
        // It never comes.
        'Content-Length: 100',
      ])
      assert.match(answer, /^HTTP\/1\.1 401 /)
    })
  })

  it('refuses a repeated Authorization field', async () => {
    const token = await signed()
    const answer = await rawRequest(api.url, [
      `GET ${path()} HTTP/1.1`,
      `Authorization: Bearer ${token}`,
      `Authorization: Bearer ${token}`,
    ])
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.match(answer, /"code":"invalid_request"/)
  })

  it('refuses a token without the scope, and the challenge names it', async () => {
    for (const scope of ['', 'boost:read catalog:write', 'analytics:reader', 'ANALYTICS:READ']) {
      const response = await read(await api.issuer.token({ ...client, scope }))
      assertProblem(response, 'insufficient_scope')
      const challenge = response.headers.get('www-authenticate') ?? ''
      assert.match(challenge, /error="insufficient_scope".*scope="analytics:read"$/)
    }
  })

  it('refuses another company alike whether or not it exists', async () => {
    const other = await api.createCompany()
    const token = await signed()
    const answers = [other.vendorId, 'ven_nobody', '%00', '..%2f..'].map((company) =>
      api.request('GET', `/v1/analytics/${company}/daily`, { token }),
    )
    assertAlike(await Promise.all(answers), 'forbidden')
  })

  it('judges the token, then its scope, then the company, and only then the query', async () => {
    const other = '/v1/analytics/ven_other/daily?from=x'
    assertProblem(await api.request('GET', other), 'unauthenticated')
    const unscoped = await api.issuer.token({ ...client, scope: 'boost:read' })
    assertProblem(await api.request('GET', other, { token: unscoped }), 'insufficient_scope')
    assertProblem(await api.request('GET', other, { token: await signed() }), 'forbidden')
  })

  it('answers 429 with Retry-After, and counts each client separately', async () => {
    await using limited = await startApi({ beside: api, env: { RATE_API_PER_CLIENT: '2/60' } })
    const { vendorId } = client
    const [first, other] = [await api.createClient({ vendorId }), await api.createClient({ vendorId })]
    const readAs = async (reader: typeof first) =>
      limited.request('GET', path(), { token: await api.issuer.token(reader) })
    assert.match((await readAs(first)).headers.get('ratelimit') ?? '', /^"api-client";r=1;/)
    assert.equal((await readAs(first)).status, 200)
    const refused = await readAs(first)
    assertProblem(refused, 'rate_limited')
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d?$/)
    assert.equal(refused.headers.get('ratelimit-policy'), '"api-client";q=2;w=60')
    assert.equal((await readAs(other)).status, 200)
  })

  describe('that was revoked', () => {
    it('refuses a revoked token at every process, by its jti', async () => {
      await using second = await startApi({ beside: api })
      const jti = crypto.randomUUID()
      const token = await signed({ claims: { jti } })
      for (const at of [api, second]) assert.equal((await at.request('GET', path(), { token })).status, 200)
      const urls = { redisUrl: api.redis.url('auth'), databaseUrl: api.database.authUrl }
      await using process = await startTestProcess({ ...urls, timings: TEST_TIMINGS })
      await revokeToken(process, { jti, clientId: client.clientId })
      for (const at of [api, second])
        assertInvalidToken(await at.request('GET', path(), { token }), /revoked/)
      assert.equal((await read(await signed())).status, 200, 'another token of the client still works')
    })

    it('refuses a token whose signing key was revoked', async () => {
      const key = await api.issuer.newKey('stolen')
      api.issuer.published.push(key.publicJwk)
      api.clock.advance(10_000)
      const token = await signed({ key })
      assert.equal((await read(token)).status, 200)
      await api.db.raw(
        `insert into signing_keys values ('stolen', 'ES256', '{}', 'x', now(), now());
         insert into revoked_signing_keys values ('stolen', now())`,
      )
      await (await api.redis.connect('admin')).set('revoked:key:stolen', '1')
      assertInvalidToken(await read(token), /revoked/)
      assert.equal((await read(await signed())).status, 200)
    })
  })
})

/** Sends header lines as they are and returns the whole answer. */
async function rawRequest(url: string, lines: string[]): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`${[...lines, 'Host: api.test', 'Connection: close'].join('\r\n')}\r\n\r\n`)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return answer
}
