import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { createSigningKeys, type SigningKeys } from '#shared/access-tokens/signing-keys.ts'
import { listen } from '#shared/process/http-server.ts'
import { within } from '#shared/process/within.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { createTestClock, type TestClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { createTestIssuer, type TestIssuer, type TestKey } from '../support/issuer.ts'
import { silentLog } from '../support/log.ts'
import { assertProblem } from '../support/problem.ts'

const HOUR_MS = 3_600_000

describe('the signing keys of the authorization server', () => {
  let api: TestApi
  let vendorId: string
  let clientId: string
  beforeEach(async () => {
    api = await startApi()
    ;({ vendorId } = await api.createCompany())
    ;({ clientId } = await api.createClient({ vendorId }))
  })
  afterEach(() => api.stop())

  const read = async (key?: TestKey, header?: Record<string, unknown>) => {
    const token = await api.issuer.token(
      { clientId, vendorId },
      { ...(key && { key }), ...(header && { header }) },
    )
    return api.request('GET', `/v1/analytics/${vendorId}/daily`, { token })
  }

  it('are fetched once, at start', async () => {
    for (let times = 0; times < 5; times += 1) assert.equal((await read()).status, 200)
    assert.equal(api.issuer.fetches(), 1)
  })

  it('are fetched for an unknown kid, so that a new key works at once', async () => {
    const next = await api.issuer.newKey('key-2')
    api.issuer.published.push(next.publicJwk)
    api.clock.advance(10_000)
    const atOnce = await Promise.all([read(next), read(next), read(next)])
    for (const { status } of atOnce) assert.equal(status, 200)
    assert.equal((await read()).status, 200, 'the one before still works')
  })

  it('may be RSA', async () => {
    const rsa = await api.issuer.newKey('rsa', 'RS256')
    api.issuer.published.push(rsa.publicJwk)
    api.clock.advance(10_000)
    assert.equal((await read(rsa)).status, 200)
  })

  it('are fetched at most once per 10 s, however many unknown kids come', async () => {
    api.clock.advance(10_000)
    await Promise.all(Array.from({ length: 20 }, (_, index) => read(undefined, { kid: `unknown-${index}` })))
    assert.equal(api.issuer.fetches(), 2)
    api.clock.advance(9_999)
    await read(undefined, { kid: 'unknown' })
    assert.equal(api.issuer.fetches(), 2)
    api.clock.advance(1)
    await read(undefined, { kid: 'unknown' })
    assert.equal(api.issuer.fetches(), 3)
  })

  it('are fetched at most once per 10 s when fetching fails, too', async () => {
    api.issuer.answerWith({ status: 500 })
    api.clock.advance(10_000)
    for (let times = 0; times < 5; times += 1)
      assertProblem(await read(undefined, { kid: 'x' }), 'unavailable')
    assert.equal(api.issuer.fetches(), 2)
  })

  it('leave it open whether a kid is unknown until they may be fetched again: 503, never 401', async () => {
    api.clock.advance(10_000)
    assertProblem(await read(undefined, { kid: 'unknown' }), 'invalid_token')
    const next = await api.issuer.newKey('key-2')
    api.issuer.published.push(next.publicJwk)
    const early = await read(next)
    assertProblem(early, 'unavailable')
    assert.match(early.headers.get('retry-after') ?? '', /^\d+$/)
    api.clock.advance(10_000)
    assert.equal((await read(next)).status, 200)
  })

  it('are served stale for 24 hours, then it cannot be decided any more', async () => {
    api.issuer.answerWith({ status: 503 })
    api.clock.advance(24 * HOUR_MS - 1)
    assert.equal((await read()).status, 200)
    api.clock.advance(1)
    const undecided = await read()
    assertProblem(undecided, 'unavailable')
    assert.match(undecided.headers.get('retry-after') ?? '', /^\d+$/)
    api.issuer.answerWith(undefined)
    api.clock.advance(10_000)
    assert.equal((await read()).status, 200)
  })

  it('refuse what they signed once they are not published any more, though it was verified before', async () => {
    const old = api.issuer.key
    const next = await api.issuer.newKey('key-2')
    const token = await api.issuer.token({ clientId, vendorId })
    const path = `/v1/analytics/${vendorId}/daily`
    assert.equal((await api.request('GET', path, { token })).status, 200)
    api.issuer.published.splice(0, 1, next.publicJwk)
    api.clock.advance(10_000)
    assert.equal((await read(next)).status, 200)
    assertProblem(await api.request('GET', path, { token }), 'unavailable')
    assertProblem(await read(old), 'unavailable')
    api.clock.advance(10_000)
    assertProblem(await read(old), 'invalid_token')
  })

  it('refuse what an earlier key of the same kid signed', async () => {
    const token = await api.issuer.token({ clientId, vendorId })
    const path = `/v1/analytics/${vendorId}/daily`
    assert.equal((await api.request('GET', path, { token })).status, 200)
    const replaced = await api.issuer.newKey(api.issuer.key.kid)
    api.issuer.published.splice(0, 1, replaced.publicJwk)
    api.clock.advance(10_000)
    await read(undefined, { kid: 'unknown, so that the set is fetched' })
    assertProblem(await api.request('GET', path, { token }), 'invalid_token')
    assert.equal((await read(replaced)).status, 200)
  })

  for (const [what, answer] of [
    ['not JSON', { status: 200, body: '<html>' }],
    ['no key set', { status: 200, body: '{"key":[]}' }],
    ['empty', { status: 200, body: '{"keys":[]}' }],
  ] as const) {
    it(`stay what they were when the answer is ${what}`, async () => {
      api.issuer.answerWith(answer)
      api.clock.advance(10_000)
      assertProblem(await read(undefined, { kid: 'unknown' }), 'unavailable')
      assert.equal(api.issuer.fetches(), 2)
      assert.equal((await read()).status, 200)
    })
  }

  for (const [what, answer] of [
    ['an error', ({ set }) => ({ status: 500, body: set })],
    ['a redirect', ({ jwksUrl, set }) => ({ status: 302, headers: { location: jwksUrl }, body: set })],
    ['larger than 256 KiB', ({ set }) => ({ status: 200, body: set + ' '.repeat(256 * 1_024) })],
  ] as [string, (other: { jwksUrl: string; set: string }) => Parameters<TestIssuer['answerWith']>[0]][]) {
    it(`hold no key of an answer that is ${what}`, async () => {
      const other = await createTestIssuer({ clock: api.clock })
      other.published.splice(0, 1, { ...other.key.publicJwk, kid: 'other' })
      const answered = answer({ jwksUrl: other.jwksUrl, set: JSON.stringify({ keys: other.published }) })
      api.issuer.answerWith(answered)
      api.clock.advance(10_000)
      assertProblem(await read({ ...other.key, kid: 'other' }), 'unavailable')
      assert.equal(api.issuer.fetches(), 2)
      assert.equal(other.fetches(), 0)
      assert.equal((await read()).status, 200)
      await other.stop()
    })
  }

  it('come uncompressed', async () => {
    const next = await api.issuer.newKey('key-2')
    api.issuer.published.push(next.publicJwk)
    api.clock.advance(10_000)
    assert.equal((await read(next)).status, 200)
    assert.equal(api.issuer.acceptedEncoding(), 'identity')
  })

  it('never hold a symmetric, private, encryption or unknown key', async () => {
    const { publicJwk } = api.issuer.key
    const encryption = await api.issuer.newKey('enc')
    const secret = await api.issuer.newKey('private')
    const other = await api.issuer.newKey('es384', 'ES384')
    const nameless = await api.issuer.newKey('')
    const mute = await api.issuer.newKey('no-alg')
    const { alg: _, ...withoutAlg } = mute.publicJwk
    api.issuer.published.push(
      { kty: 'oct', kid: 'hmac', alg: 'HS256', k: Buffer.from('secret').toString('base64url') },
      { ...encryption.publicJwk, use: 'enc' },
      { ...secret.publicJwk, d: 'AAAA' },
      other.publicJwk,
      nameless.publicJwk,
      withoutAlg,
      { ...publicJwk, kid: 'broken', x: 'AA' },
      { kid: 'odd', alg: 'ES256', kty: 'XX' },
    )
    api.clock.advance(10_000)
    assert.equal((await read()).status, 200)
    for (const key of [encryption, secret, other, nameless, mute]) {
      assertProblem(await read(key), 'invalid_token')
      api.clock.advance(10_000)
    }
    // One key is refused for its algorithm alone.
    assert.equal(api.issuer.fetches(), 5)
  })

  it('are waited for: without any, the answer is 503 and the process not ready', async () => {
    const early = await startApi({ beside: api, env: { JWKS_URL: 'http://127.0.0.1:1/jwks' } })
    const token = await api.issuer.token({ clientId, vendorId })
    assertProblem(await early.request('GET', `/v1/analytics/${vendorId}/daily`, { token }), 'unavailable')
    const ready = await early.request('GET', '/readyz')
    assert.equal(ready.status, 503)
    assert.deepEqual(ready.json, { status: 'not ready', waitingFor: ['signing keys'] })
    await early.stop()
  })

  it('are tried for again about each second until they are there', async () => {
    api.issuer.answerWith({ status: 503 })
    const early = await startApi({ beside: api })
    assert.equal((await early.request('GET', '/readyz')).status, 503)
    api.issuer.answerWith(undefined)
    await new Promise((resolve) => setTimeout(resolve, 1_300))
    assert.equal((await early.request('GET', '/readyz')).status, 200)
    await early.stop()
  })
})

describe('the fetching of signing keys', () => {
  let clock: TestClock
  let issuer: TestIssuer
  let keys: SigningKeys | undefined
  beforeEach(async () => {
    clock = createTestClock()
    issuer = await createTestIssuer({ clock })
  })
  afterEach(async () => {
    keys?.stop()
    await issuer.stop()
  })

  it('goes on, so that a key is known before its first token and forgotten once it is withdrawn', async () => {
    const { kid } = issuer.key
    keys = createSigningKeys({ url: issuer.jwksUrl, clock, log: silentLog(), refreshEvery_ms: 20 })
    await keys.start()
    const known = keys.known(kid)
    const next = await issuer.newKey('key-2')
    issuer.published.push(next.publicJwk)
    await eventually(() => keys?.known('key-2') !== undefined)
    assert.ok(known && keys.known(kid) === known, 'the one that has not changed is not the same object')
    issuer.published.shift()
    await eventually(() => keys?.known(kid) === undefined)
  })

  it('gives up on an authorization server that does not answer', async () => {
    const silent = createServer(() => {})
    const port = await listen(silent, { host: '127.0.0.1', port: 0 })
    const url = `http://127.0.0.1:${port}/jwks`
    keys = createSigningKeys({ url, clock, log: silentLog(), timeout_ms: 100 })
    try {
      const started = keys.start().then(() => true)
      assert.equal(await within(2_000, started), true)
      assert.equal(await keys.find('key-1'), 'undecided')
    } finally {
      silent.closeAllConnections()
      silent.close()
    }
  })
})
