import { strict as assert } from 'node:assert'
import { randomBytes } from 'node:crypto'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import {
  ensureActiveSigningKey,
  KEEP_RETIRED_MS,
  listSigningKeys,
  markSigningKeyRevoked,
  newSigningKey,
  openSigningKey,
  PUBLISH_AHEAD_MS,
  rotateSigningKey,
  type SigningAlg,
  type SigningKeyState,
  SigningKeyUnreadable,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import { type AuthResponse, startAuth, type TestAuth, type TestClient } from '../support/auth.ts'
import { createTestClock } from '../support/clock.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const kidOf = ({ json }: AuthResponse): string => decodeProtectedHeader(json.access_token).kid as string

describe('signing keys', () => {
  let auth: TestAuth
  let client: TestClient

  beforeEach(async () => {
    auth = await startAuth()
    client = await auth.createClient()
  })
  afterEach(() => auth.stop())

  const options = (alg: SigningAlg = 'ES256') => ({
    alg,
    encryptionKey: auth.encryptionKey,
    clock: auth.clock,
  })
  const published = async (server = auth): Promise<string[]> =>
    (await server.request('GET', '/v1/oauth/jwks')).json.keys.map(({ kid }: { kid: string }) => kid)

  async function assertVerifies(response: AuthResponse, server = auth): Promise<void> {
    assert.equal(response.status, 200, response.text)
    const jwks = createLocalJWKSet((await server.request('GET', '/v1/oauth/jwks')).json)
    await jwtVerify(response.json.access_token, jwks, { currentDate: new Date(auth.clock.now()) })
  }

  /** A process that starts now: what a running one knows after its next look at the table. */
  const another = (env: Record<string, string> = {}) => startAuth({ beside: auth, env })

  it('are one when several processes start at once on an empty table', async () => {
    await auth.db.raw('truncate signing_keys cascade')
    const started = await Promise.all([another(), another(), another()])
    const kids = await Promise.all(started.map((server) => published(server)))
    assert.equal(new Set(kids.flat()).size, 1)
    for (const server of started) await server.stop()
  })

  it('never lie in the database readable, nor under another kid', async () => {
    const [key] = (await listSigningKeys(auth.db)) as [StoredSigningKey]
    const { privateKey } = openSigningKey(key, auth.encryptionKey)
    const secretPart = Buffer.from(privateKey.export({ format: 'jwk' }).d as string, 'base64url')
    const row = JSON.stringify((await auth.db.raw('select * from signing_keys')).rows)
    assert.ok(!key.privateKeyEncrypted.includes(secretPart))
    assert.ok(!row.includes(secretPart.toString('base64url')) && !row.includes(secretPart.toString('hex')))
    assert.throws(() => openSigningKey({ ...key, kid: 'other' }, auth.encryptionKey), SigningKeyUnreadable)
    assert.throws(() => openSigningKey(key, randomBytes(32)), SigningKeyUnreadable)
    const altered = Buffer.from(key.privateKeyEncrypted)
    altered[20] = (altered[20] as number) ^ 1
    const tampered = { ...key, privateKeyEncrypted: altered }
    assert.throws(() => openSigningKey(tampered, auth.encryptionKey), SigningKeyUnreadable)
    const cut = { ...key, privateKeyEncrypted: altered.subarray(0, 5) }
    assert.throws(() => openSigningKey(cut, auth.encryptionKey), SigningKeyUnreadable)
  })

  it('stop a process that has another key encryption key', async () => {
    await assert.rejects(
      another({ KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64') }),
      /KEY_ENCRYPTION_KEY/,
    )
    const wrong = { ...options(), encryptionKey: randomBytes(32) }
    await assert.rejects(rotateSigningKey(auth.db, wrong), SigningKeyUnreadable)
    assert.equal((await listSigningKeys(auth.db)).length, 1)
  })

  it('have ids that a command line does not take for an option', async () => {
    const key = () => newSigningKey({ ...options(), activatesAt: new Date(auth.clock.now()) })
    // One thumbprint in 64 begins with a hyphen.
    const kids = await Promise.all(Array.from({ length: 1_000 }, async () => (await key()).kid))
    assert.deepEqual(
      kids.filter((kid) => kid.startsWith('-')),
      [],
    )
  })

  it('are not published because somebody could write the table', async () => {
    const genuine = await published()
    const now = new Date(auth.clock.now())
    const forged = await newSigningKey({ ...options(), encryptionKey: randomBytes(32), activatesAt: now })
    await auth.db.raw(
      `insert into signing_keys (kid, alg, public_jwk, private_key_encrypted, created_at, activates_at)
       values (?, 'ES256', ?, ?, now(), ?)`,
      [forged.kid, JSON.stringify(forged.publicJwk), forged.privateKeyEncrypted, now],
    )
    const later = await another()
    assert.deepEqual(await published(later), genuine)
    await assertVerifies(await later.token(client), later)
    assert.ok(later.logLines.some((line) => line.includes('signing_key.unreadable')))
    await later.stop()
  })

  it('rotate without a refused token: published, after 10 minutes active, the old one kept, then gone', async () => {
    const [old] = await published()
    const { kid: next } = await rotateSigningKey(auth.db, options())
    const steps: { after_ms: number; signs: string; publishes: string[] }[] = [
      { after_ms: 0, signs: old as string, publishes: [old as string, next] },
      { after_ms: PUBLISH_AHEAD_MS - 1, signs: old as string, publishes: [old as string, next] },
      { after_ms: PUBLISH_AHEAD_MS, signs: next, publishes: [old as string, next] },
      { after_ms: PUBLISH_AHEAD_MS + KEEP_RETIRED_MS - 1, signs: next, publishes: [old as string, next] },
      { after_ms: PUBLISH_AHEAD_MS + KEEP_RETIRED_MS, signs: next, publishes: [next] },
    ]
    const start_ms = auth.clock.now()
    for (const { after_ms, signs, publishes } of steps) {
      auth.clock.set(start_ms + after_ms)
      const server = await another()
      const response = await server.token(client)
      await assertVerifies(response, server)
      assert.equal(kidOf(response), signs, `after ${after_ms} ms`)
      assert.deepEqual(await published(server), publishes, `after ${after_ms} ms`)
      await server.stop()
    }
  })

  it('can change their algorithm by rotation', async () => {
    await rotateSigningKey(auth.db, options('RS256'))
    auth.clock.advance(PUBLISH_AHEAD_MS)
    const server = await another()
    const response = await server.token(client)
    assert.equal(decodeProtectedHeader(response.json.access_token).alg, 'RS256')
    await assertVerifies(response, server)
    await server.stop()
  })

  it('are RS256 from the start where that is configured', async () => {
    await auth.db.raw('truncate signing_keys cascade')
    const server = await another({ SIGNING_ALG: 'RS256' })
    const response = await server.token(client)
    assert.equal(decodeProtectedHeader(response.json.access_token).alg, 'RS256')
    await assertVerifies(response, server)
    await server.stop()
  })

  describe('when the active one is revoked', () => {
    const revoke = (kid: string) => markSigningKeyRevoked(auth.db, kid)
    /** The database takes its own time; here it has to be the time of the test. */
    const revokeNow = (kid: string) =>
      auth.db.raw('insert into revoked_signing_keys (kid, revoked_at) values (?, ?)', [
        kid,
        new Date(auth.clock.now()),
      ])

    it('it signs nothing more, in a process that runs: a new one does, at once', async () => {
      const [old] = (await published()) as [string]
      assert.equal(kidOf(await auth.token(client)), old)
      assert.equal(await revoke(old), true)
      const response = await auth.token(client)
      await assertVerifies(response)
      assert.notEqual(kidOf(response), old)
      assert.deepEqual(await published(), [kidOf(response)])
    })

    it('all processes go over to the same new key', async () => {
      const second = await another()
      const [old] = (await published()) as [string]
      await revoke(old)
      const responses = await Promise.all([auth.token(client), second.token(client), auth.token(client)])
      assert.equal(new Set(responses.map(kidOf)).size, 1)
      assert.deepEqual(await published(), await published(second))
      await second.stop()
    })

    it('a next one that waits takes over before its time', async () => {
      const [old] = (await published()) as [string]
      const { kid: next } = await rotateSigningKey(auth.db, options())
      await revoke(old)
      assert.equal(kidOf(await auth.token(client)), next)
    })

    it('a retired one does not come back', async () => {
      const [first] = (await published()) as [string]
      const { kid: second } = await rotateSigningKey(auth.db, options())
      auth.clock.advance(PUBLISH_AHEAD_MS + MINUTE_MS)
      const server = await another()
      assert.equal(kidOf(await server.token(client)), second)
      await revokeNow(second)
      const third = kidOf(await server.token(client))
      assert.ok(third !== first && third !== second)
      assert.deepEqual((await published(server)).sort(), [first, third].sort())
      await server.stop()
    })
  })

  it('tell whether there was such a key to revoke', async () => {
    assert.equal(await markSigningKeyRevoked(auth.db, 'no such key'), false)
    const [kid] = (await published()) as [string]
    assert.equal(await markSigningKeyRevoked(auth.db, kid), true)
    assert.equal(await markSigningKeyRevoked(auth.db, kid), true)
  })
})

describe('the state of a signing key', () => {
  const T = 1_800_000_000_000
  const key = (kid: string, activatesAt: number, revokedAt: number | null = null): StoredSigningKey => ({
    kid,
    alg: 'ES256',
    publicJwk: {},
    privateKeyEncrypted: Buffer.alloc(0),
    createdAt: new Date(activatesAt - PUBLISH_AHEAD_MS),
    activatesAt: new Date(activatesAt),
    revokedAt: revokedAt === null ? null : new Date(revokedAt),
  })
  const rows: [string, StoredSigningKey[], SigningKeyState[]][] = [
    ['is active from its activation on', [key('a', T)], ['active']],
    ['is next until then, and signs early rather than nobody', [key('a', T + 1)], ['active']],
    ['is next while another is active', [key('a', T), key('b', T + 1)], ['active', 'next']],
    ['is retired as soon as a newer one activates', [key('a', T - 1), key('b', T)], ['retired', 'active']],
    [
      'is gone when no token of it can live',
      [key('a', T - HOUR_MS), key('b', T - KEEP_RETIRED_MS)],
      ['gone', 'active'],
    ],
    [
      'is kept by the activation of its own successor, not of the newest',
      [key('a', T - HOUR_MS), key('b', T - KEEP_RETIRED_MS + 1), key('c', T)],
      ['retired', 'retired', 'active'],
    ],
    ['is revoked whatever else', [key('a', T - HOUR_MS, T), key('b', T)], ['revoked', 'active']],
    [
      'stays active when the next one is revoked before its time',
      [key('a', T - HOUR_MS), key('b', T - MINUTE_MS, T - 2 * MINUTE_MS)],
      ['active', 'revoked'],
    ],
    [
      'is not active again when the one after it is revoked',
      [key('a', T - HOUR_MS), key('b', T - MINUTE_MS, T)],
      ['retired', 'revoked'],
    ],
  ]
  for (const [name, keys, states] of rows) {
    it(name, () => {
      assert.deepEqual(
        signingKeyStates(keys, T).map(({ state }) => state),
        states,
      )
    })
  }
})

describe('ensureActiveSigningKey', () => {
  it('leaves a table with an active key as it is', async () => {
    const auth = await startAuth()
    const before = await listSigningKeys(auth.db)
    const clock = createTestClock()
    await ensureActiveSigningKey(auth.db, { alg: 'ES256', encryptionKey: auth.encryptionKey, clock })
    assert.deepEqual(await listSigningKeys(auth.db), before)
    await auth.stop()
  })
})
