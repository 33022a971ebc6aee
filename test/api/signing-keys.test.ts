import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { createSigningKeys, type SigningKeys } from '#shared/access-tokens/signing-keys.ts'
import { listen } from '#shared/process/http-server.ts'
import { freshApi, startApi } from '../support/api.ts'
import { afterwards, forEachTest } from '../support/block.ts'
import { createTestClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { createTestIssuer, type TestIssuer, type TestKey } from '../support/issuer.ts'
import { silentLog } from '../support/log.ts'
import { assertProblem, assertStatuses } from '../support/problem.ts'

const HOUR_MS = 3_600_000

describe('the signing keys of the authorization server', () => {
  const api = freshApi()
  const client = forEachTest(() => api.createClient())

  const send = (token: string, at: Pick<typeof api, 'request'> = api) =>
    at.request('GET', `/v1/analytics/${client.vendorId}/daily`, { token })
  const read = async (key?: TestKey, header?: Record<string, unknown>) =>
    send(await api.issuer.token(client, { ...(key && { key }), ...(header && { header }) }))

  const publish = async (...key: Parameters<TestIssuer['newKey']>) => {
    const next = await api.issuer.newKey(...key)
    api.issuer.published.push(next.publicJwk)
    api.clock.advance(10_000)
    return next
  }

  it('fetches the signing keys once, at start', async () => {
    for (let times = 0; times < 5; times += 1) assert.equal((await read()).status, 200)
    assert.equal(api.issuer.requests.length, 1)
  })

  it('fetches keys for an unknown kid, uncompressed, so that a new key works at once', async () => {
    const next = await publish('key-2')
    const atOnce = await Promise.all([read(next), read(next), read(next)])
    assertStatuses([...atOnce, await read()], 200, 200, 200, 200)
    assert.equal(api.issuer.requests.at(-1)?.['accept-encoding'], 'identity')
  })

  it('accepts RSA keys', async () => assert.equal((await read(await publish('rsa', 'RS256'))).status, 200))

  const errorLines = () => api.logLines.filter((line) => JSON.parse(line).level >= 50)
  const madeUp = (index: number) => read(undefined, { kid: `made-up-${index}` })

  it('fetches keys at most three times in a row, then once per 10 s, however many unknown kids come', async () => {
    const flood = await Promise.all(Array.from({ length: 20 }, (_, index) => madeUp(index)))
    for (const answer of flood) assertProblem(answer, 'invalid_token')
    for (let index = 0; index < 20; index += 1) await madeUp(index)
    assert.equal(api.issuer.requests.length, 1 + 3)
    assert.deepEqual(errorLines(), [])
    api.clock.advance(9_999)
    await madeUp(20)
    assert.equal(api.issuer.requests.length, 1 + 3)
    api.clock.advance(1)
    for (let index = 0; index < 20; index += 1) await madeUp(index)
    assert.equal(api.issuer.requests.length, 1 + 3 + 1)
  })

  it('fetches keys three times in a row again after 30 quiet seconds, never more', async () => {
    for (const quiet_ms of [30_000, 3_600_000]) {
      const before = api.issuer.requests.length
      api.clock.advance(quiet_ms)
      for (let index = 0; index < 20; index += 1) await madeUp(index)
      assert.equal(api.issuer.requests.length - before, 3)
    }
  })

  it('fetches keys after 10 s even if the clock was set back by an hour', async () => {
    for (let index = 0; index < 4; index += 1) await madeUp(index)
    api.clock.advance(-HOUR_MS)
    assertProblem(await madeUp(4), 'unavailable')
    assert.equal(api.issuer.requests.length, 1 + 3)
    api.clock.advance(10_000)
    await madeUp(5)
    assert.equal(api.issuer.requests.length, 1 + 3 + 1)
  })

  it('refuses no good token when two keys are revoked in a row', async () => {
    const standby = await api.issuer.newKey('key-2')
    api.issuer.published.push(standby.publicJwk)
    assert.equal((await read(standby)).status, 200, 'the standby key')
    // Each revocation makes the standby key sign and publishes another, all before the next planned fetch.
    let signs = standby
    for (const kid of ['key-3', 'key-4', 'key-5']) {
      const next = await api.issuer.newKey(kid)
      api.issuer.published.splice(0, 1)
      api.issuer.published.push(next.publicJwk)
      assert.equal((await read(signs)).status, 200, `when ${kid} was published`)
      signs = next
    }
  })

  it('answers 503 to an unknown kid while keys cannot be fetched, with no error in the log', async () => {
    api.issuer.answerWith({ status: 500 })
    api.clock.advance(10_000)
    for (let index = 0; index < 10; index += 1) assertProblem(await madeUp(index), 'unavailable')
    assert.equal(api.issuer.requests.length, 1 + 3)
    assert.deepEqual(errorLines(), [])
    api.issuer.answerWith(undefined)
    api.clock.advance(10_000)
    assertProblem(await madeUp(0), 'invalid_token')
  })

  it('uses stale keys for 24 hours, then decides nothing', async () => {
    api.issuer.answerWith({ status: 503 })
    api.clock.advance(24 * HOUR_MS - 1)
    assert.equal((await read()).status, 200)
    api.clock.advance(1)
    assertProblem(await read(), 'unavailable')
    api.issuer.answerWith(undefined)
    api.clock.advance(10_000)
    assert.equal((await read()).status, 200)
  })

  it('refuses a verified token once its key is no longer published', async () => {
    const next = await api.issuer.newKey('key-2')
    const token = await api.issuer.token(client)
    assert.equal((await send(token)).status, 200)
    api.issuer.published.splice(0, 1, next.publicJwk)
    api.clock.advance(10_000)
    assert.equal((await read(next)).status, 200)
    for (const answer of [await send(token), await read()]) assertProblem(answer, 'invalid_token')
  })

  it('refuses what an earlier key of the same kid signed', async () => {
    const token = await api.issuer.token(client)
    assert.equal((await send(token)).status, 200)
    const replaced = await api.issuer.newKey(api.issuer.key.kid)
    api.issuer.published.splice(0, 1, replaced.publicJwk)
    api.clock.advance(10_000)
    await read(undefined, { kid: 'unknown, so that the set is fetched' })
    assertProblem(await send(token), 'invalid_token')
    assert.equal((await read(replaced)).status, 200)
  })

  for (const [what, answer] of [
    ['not JSON', { status: 200, body: '<html>' }],
    ['no key set', { status: 200, body: '{"key":[]}' }],
    ['empty', { status: 200, body: '{"keys":[]}' }],
  ] as const)
    it(`keeps the keys when the answer is ${what}`, async () => {
      api.issuer.answerWith(answer)
      api.clock.advance(10_000)
      assertProblem(await read(undefined, { kid: 'unknown' }), 'unavailable')
      assert.equal(api.issuer.requests.length, 2)
      assert.equal((await read()).status, 200)
    })

  for (const [what, answer] of [
    ['an error', ({ set }) => ({ status: 500, body: set })],
    ['a redirect', ({ jwksUrl, set }) => ({ status: 302, headers: { location: jwksUrl }, body: set })],
    ['larger than 256 KiB', ({ set }) => ({ status: 200, body: set + ' '.repeat(256 * 1_024) })],
  ] as [string, (other: { jwksUrl: string; set: string }) => Parameters<TestIssuer['answerWith']>[0]][])
    it(`takes no key from an answer that is ${what}`, async () => {
      await using other = await createTestIssuer({ clock: api.clock })
      other.published.splice(0, 1, { ...other.key.publicJwk, kid: 'other' })
      const answered = answer({ jwksUrl: other.jwksUrl, set: JSON.stringify({ keys: other.published }) })
      api.issuer.answerWith(answered)
      api.clock.advance(10_000)
      assertProblem(await read({ ...other.key, kid: 'other' }), 'unavailable')
      assert.equal(api.issuer.requests.length, 2)
      assert.equal(other.requests.length, 0)
      assert.equal((await read()).status, 200)
    })

  it('never holds a symmetric, private, encryption or unknown key', async () => {
    const { key, newKey } = api.issuer
    const [encryption, secret] = [await newKey('enc'), await newKey('private')]
    const [other, nameless, mute] = [await newKey('es384', 'ES384'), await newKey(''), await newKey('no-alg')]
    const { alg: _, ...withoutAlg } = mute.publicJwk
    api.issuer.published.push(
      { kty: 'oct', kid: 'hmac', alg: 'HS256', k: Buffer.from('secret').toString('base64url') },
      { ...encryption.publicJwk, use: 'enc' },
      { ...secret.publicJwk, d: 'AAAA' },
      other.publicJwk,
      nameless.publicJwk,
      withoutAlg,
      { ...key.publicJwk, kid: 'broken', x: 'AA' },
      { kid: 'odd', alg: 'ES256', kty: 'XX' },
    )
    api.clock.advance(10_000)
    assert.equal((await read()).status, 200)
    for (const key of [encryption, secret, other, nameless, mute]) {
      assertProblem(await read(key), 'invalid_token')
      api.clock.advance(10_000)
    }
    // One key is refused for its algorithm alone.
    assert.equal(api.issuer.requests.length, 5)
  })

  it('answers 503 and is not ready until there are keys, for which it asks about each second', async () => {
    api.issuer.answerWith({ status: 503 })
    await using early = await startApi({ beside: api })
    assertProblem(await send(await api.issuer.token(client), early), 'unavailable')
    const { status, json } = await early.request('GET', '/readyz')
    assert.deepEqual([status, json], [503, { status: 'not ready', waitingFor: ['signing keys'] }])
    api.issuer.answerWith(undefined)
    const isReady = async () => (await early.request('GET', '/readyz')).status === 200
    await eventually(isReady, { limit_ms: 10_000 })
  })
})

describe('the fetching of signing keys', () => {
  let keys: SigningKeys | undefined
  afterEach(() => keys?.stop())
  const clock = forEachTest(createTestClock)
  const issuer = forEachTest(() => createTestIssuer({ clock }))

  it('keeps fetching, so that a key is known before its first token and forgotten once withdrawn', async () => {
    const { kid } = issuer.key
    keys = createSigningKeys({ url: issuer.jwksUrl, clock, log: silentLog(), refreshEvery_ms: 20 })
    await keys.start()
    const known = keys.known(kid)
    issuer.published.push((await issuer.newKey('key-2')).publicJwk)
    await eventually(() => keys?.known('key-2') !== undefined)
    void keys.find('key-3')
    assert.equal(await Promise.race([keys.find(kid), setImmediate('late')]), known)
    assert.ok(known && keys.known(kid) === known, 'the one that has not changed is not the same object')
    issuer.published.shift()
    await eventually(() => keys?.known(kid) === undefined)
  })

  it('fetches once for several tokens of one new key that come during an older fetch', async () => {
    const found = createSigningKeys({ url: issuer.jwksUrl, clock, log: silentLog() })
    await found.start()
    keys = found
    const release = issuer.hold()
    const before = found.find('made-up')
    await eventually(() => issuer.requests.length === 2)
    issuer.published.push((await issuer.newKey('key-2')).publicJwk)
    const after = ['key-2', 'key-2', 'key-2'].map((kid) => found.find(kid))
    release()
    assert.equal(await before, 'unknown')
    for (const key of await Promise.all(after)) assert.equal(typeof key, 'object')
    assert.equal(issuer.requests.length, 3)
  })

  it('gives up on an authorization server that does not answer', async () => {
    const silent = createServer(() => {})
    const url = `http://127.0.0.1:${await listen(silent, { host: '127.0.0.1', port: 0 })}/jwks`
    keys = createSigningKeys({ url, clock, log: silentLog() })
    await using _ = afterwards(() => {
      silent.closeAllConnections()
      silent.close()
    })
    const from_ms = performance.now()
    await keys.start()
    assert.equal(await keys.find('key-1'), 'undecided')
    const took_ms = performance.now() - from_ms
    assert.ok(took_ms < 30_000, `${took_ms} ms`)
  })
})
