import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { exportSPKI, importJWK } from 'jose'
import { type ApiResponse, sharedApi, startApi, TEST_TIMINGS } from '../support/api.ts'
import { encode } from '../support/assertions.ts'
import { forBlock } from '../support/block.ts'
import type { TokenOptions } from '../support/issuer.ts'
import { assertProblem } from '../support/problem.ts'
import { revokeToken, startTestProcess } from '../support/revocation.ts'

const METADATA = 'resource_metadata="https://api.test/.well-known/oauth-protected-resource"'
const CHALLENGE = `Bearer realm="https://api.test", ${METADATA}`

describe('an access token at GET /v1/analytics/{vendor_id}/daily', () => {
  const api = sharedApi()
  const client = forBlock(() => api.createClient())

  const path = () => `/v1/analytics/${client.vendorId}/daily`
  const signed = (options?: TokenOptions) => api.issuer.token(client, options)
  const read = (token: string) => api.request('GET', path(), { token })

  function assertInvalidToken(response: ApiResponse, description: RegExp): void {
    assertProblem(response, 'invalid_token')
    const challenge = response.headers.get('www-authenticate') ?? ''
    assert.ok(challenge.startsWith(`${CHALLENGE}, error="invalid_token"`), challenge)
    assert.match(challenge, description)
  }

  for (const claim of ['iss', 'aud', 'sub', 'client_id', 'vendor_id', 'scope', 'iat', 'exp', 'jti'])
    it(`refuses a token without ${claim}`, async () =>
      assertProblem(await read(await signed({ claims: { [claim]: undefined } })), 'invalid_token'))

  for (const [field, description] of Object.entries({ typ: /typ at\+jwt/, kid: /unknown key/ }))
    for (const value of [undefined, { toString: 1 }])
      it(`refuses a token with ${JSON.stringify(value)} as ${field} in its header`, async () =>
        assertInvalidToken(await read(await signed({ header: { [field]: value } })), description))

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

  it('refuses a token whose header brings the key: jwk, jku, x5u', async () => {
    const key = await api.issuer.newKey('mine')
    const url = 'http://127.0.0.1:1/keys'
    for (const extra of [{ jwk: key.publicJwk }, { jku: url }, { x5u: url }]) {
      // Until the keys may be fetched again, nobody can say that a kid is unknown.
      api.clock.advance(10_000)
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

  it('is judged before a stranger’s form is read', async () => {
    const answer = await rawRequest(api.url, [
      `POST /v1/analytics/${client.vendorId}/events HTTP/1.1`,
      'Authorization: Bearer abc',
      'Content-Type: application/x-www-form-urlencoded',
      // It never comes.
      'Content-Length: 100',
    ])
    assert.match(answer, /^HTTP\/1\.1 401 /)
  })

  it('refuses a repeated Authorization field', async () => {
    const field = `Authorization: Bearer ${await signed()}`
    const answer = await rawRequest(api.url, [`GET ${path()} HTTP/1.1`, field, field])
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.match(answer, /"code":"invalid_request"/)
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
      const left = async () => (await read(await signed())).headers.get('ratelimit')?.replace(/;t=.*/, '')
      const before = Number(/\d+/.exec((await left()) as string)?.[0])
      for (const at of [api, second])
        assertInvalidToken(await at.request('GET', path(), { token }), /revoked/)
      // Whoever stole it cannot use up the limit of the client, whose other tokens still work.
      assert.equal(await left(), `"api-client";r=${before - 1}`)
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
  return text(socket)
}
