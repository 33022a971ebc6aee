import { strict as assert } from 'node:assert'
import { randomBytes, randomUUID } from 'node:crypto'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JWK, jwtVerify } from 'jose'
import {
  decryptSigningKey,
  KEEP_RETIRED_MS,
  listSigningKeys,
  newSigningKey,
  type SigningAlg,
  type SigningKeyState,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import { createMetrics } from '#shared/process/metrics.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { createKeyRing, type KeyRing } from '../../apps/auth/key-ring.ts'
import { measureKeys } from '../../apps/auth/metrics.ts'
import { markSigningKeyRevoked, rotateSigningKey, STANDBY_MIN_MS } from '../../infra/admin/keys.ts'
import { type AuthResponse, startAuth, type TestAuth, type TestAuthOptions } from '../support/auth.ts'
import { afterwards, forEachTest } from '../support/block.ts'
import { passing, stoppedTime } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { silentLog } from '../support/log.ts'
import { testOperator } from '../support/operator.ts'
import { cutOffDatabase, lockTable, untilBlocked } from '../support/stores.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** The id of an advisory lock. */
const HELD = 4_711
const APPLICATION = 'a key ring'

const headerOf = ({ json }: AuthResponse) => decodeProtectedHeader(json.access_token)
const readKid = (response: AuthResponse): string => headerOf(response).kid as string

const listStates = (keys: StoredSigningKey[], now_ms: number) =>
  signingKeyStates(keys, now_ms).map(({ state }) => state)

describe('signing keys', () => {
  const beside: TestAuth[] = []
  afterEach(async () => {
    for (const server of beside.splice(0)) await server.stop()
  })
  const auth = forEachTest(startAuth)
  const client = forEachTest(() => auth.createClient())

  const options = (alg: SigningAlg = 'ES256') => ({
    alg,
    encryptionKey: [auth.encryptionKey],
    clock: auth.clock,
    by: testOperator(),
  })
  const rotate = (alg?: SigningAlg) => rotateSigningKey(auth.db, { ...options(), alg })
  const fetchJwks = async (server = auth): Promise<{ keys: JWK[] }> =>
    (await server.request('GET', '/v1/oauth/jwks')).json
  const published = async (server = auth) => (await fetchJwks(server)).keys.map(({ kid = '' }) => kid)
  const markRevoked = (kid: string) =>
    auth.db.raw('insert into revoked_signing_keys (kid, revoked_at) values (?, now())', [kid])

  /** Tries again, as clients do, when on a busy machine the store that decides answers too late. */
  const issued = (owner = client, server = auth): Promise<AuthResponse> =>
    eventually(async () => {
      const response = await server.token(owner)
      if (response.status === 503) return false
      assert.equal(response.status, 200, response.text)
      return response
    })
  const issuedKid = async (owner = client, server = auth) => readKid(await issued(owner, server))

  async function assertVerifies(response: AuthResponse, server = auth): Promise<void> {
    const jwks = createLocalJWKSet(await fetchJwks(server))
    await jwtVerify(response.json.access_token, jwks, { currentDate: new Date(auth.clock.now()) })
  }

  /** A process that starts now: what a running one knows after its next look at the table. */
  async function another(options: TestAuthOptions = { beside: auth }): Promise<TestAuth> {
    const server = await startAuth(options)
    beside.push(server)
    return server
  }

  it('makes one active and one standby key when several processes start at once on an empty table', async () => {
    await auth.db.raw('truncate signing_keys cascade')
    const kids = await Promise.all([1, 2, 3].map(async () => published(await another())))
    assert.equal(new Set(kids.flat()).size, 2)
  })

  it('stores no readable key, nor a key under another kid', async () => {
    const [key] = (await listSigningKeys(auth.db)) as [StoredSigningKey]
    const { privateKey } = decryptSigningKey(key, [auth.encryptionKey]) ?? assert.fail('it does not open')
    const secretPart = Buffer.from(privateKey.export({ format: 'jwk' }).d as string, 'base64url')
    const row = JSON.stringify((await auth.db.raw('select * from signing_keys')).rows)
    assert.ok(!key.privateKeyEncrypted.includes(secretPart))
    assert.ok(!row.includes(secretPart.toString('base64url')) && !row.includes(secretPart.toString('hex')))
    assert.equal(decryptSigningKey(key, [randomBytes(32)]), undefined)
    const altered = Buffer.from(key.privateKeyEncrypted)
    altered[20] = (altered[20] as number) ^ 1
    const cut = key.privateKeyEncrypted.subarray(0, 5)
    for (const change of [{ kid: 'other' }, { privateKeyEncrypted: altered }, { privateKeyEncrypted: cut }])
      assert.equal(decryptSigningKey({ ...key, ...change }, [auth.encryptionKey]), undefined)
  })

  it('gives keys ids that a command line does not take for an option', async () => {
    // One thumbprint in 64 begins with a hyphen.
    for (const _ of Array(1_000)) {
      const { kid } = await newSigningKey({ ...options(), activatesAt: null })
      assert.ok(!kid.startsWith('-'), kid)
    }
  })

  it('publishes no key because someone could write the table', async () => {
    const genuine = await published()
    const now = new Date(auth.clock.now())
    const forged = await newSigningKey({ ...options(), encryptionKey: [randomBytes(32)], activatesAt: now })
    await auth.db.raw(
      `insert into signing_keys (kid, alg, public_jwk, private_key_encrypted, created_at, activates_at)
       values (?, 'ES256', ?, ?, now(), ?)`,
      [forged.kid, JSON.stringify(forged.publicJwk), forged.privateKeyEncrypted, now],
    )
    const later = await another()
    assert.deepEqual(await published(later), genuine)
    await assertVerifies(await issued(client, later), later)
    assert.ok(later.logLines.some((line) => line.includes('signing_key.unreadable')))
  })

  it('derives the published half from the private one, not from the table', async () => {
    const before = await fetchJwks()
    const other = await newSigningKey({ ...options(), activatesAt: null })
    await auth.db.raw('update signing_keys set public_jwk = ?', [JSON.stringify(other.publicJwk)])
    assert.deepEqual(await fetchJwks(await another()), before)
  })

  it('rotates without a refused token: the standby key signs, the old one is kept, then gone', async () => {
    const [old, next] = (await published()) as [string, string]
    auth.clock.advance(STANDBY_MIN_MS)
    const { active, standby } = await rotate()
    assert.equal(active.kid, next)
    {
      using time = stoppedTime()
      const isNoticed = async () => {
        time.advance(1_000)
        return (await issuedKid()) === next
      }
      await eventually(isNoticed, { limit_ms: 600_000 })
    }
    const start_ms = auth.clock.now()
    for (const [after_ms, publishes] of [
      [0, [old, next, standby.kid]],
      [KEEP_RETIRED_MS - 1, [old, next, standby.kid]],
      [KEEP_RETIRED_MS, [next, standby.kid]],
    ] as const) {
      auth.clock.set(start_ms + after_ms)
      const server = await another()
      const response = await issued(client, server)
      await assertVerifies(response, server)
      assert.equal(readKid(response), next, `after ${after_ms} ms`)
      assert.deepEqual(await published(server), publishes, `after ${after_ms} ms`)
    }
  })

  it('measures the age of a signing key from when it began to sign', async () => {
    const metrics = createMetrics({ service: 'auth' })
    const keys = createKeyRing({ ...options(), db: auth.db, log: silentLog() })
    measureKeys(metrics, keys, auth.clock)
    auth.clock.advance(STANDBY_MIN_MS)
    await rotate()
    auth.clock.advance(MINUTE_MS)
    await keys.start()
    assert.match(await metrics.registry.metrics(), /^integration_signing_key_age_seconds\{.*\} 60$/m)
  })

  it('publishes a retired key until its last token expired, with keys cached 5 minutes and clocks 2 minutes off', () =>
    assert.ok(KEEP_RETIRED_MS >= (900 + 300 + 2 * 120) * 1_000))

  it('rotates one after the other when two operators rotate at once', async () => {
    auth.clock.advance(STANDBY_MIN_MS)
    const both = await Promise.allSettled([rotate(), rotate()])
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    const states = listStates(await listSigningKeys(auth.db), auth.clock.now())
    assert.deepEqual(states, ['retired', 'active', 'standby'])
  })

  it('changes the algorithm by two rotations', async () => {
    for (const _ of [1, 2]) {
      auth.clock.advance(STANDBY_MIN_MS)
      await rotate('RS256')
    }
    const server = await another()
    const response = await issued(client, server)
    assert.equal(headerOf(response).alg, 'RS256')
    await assertVerifies(response, server)
  })

  it('makes RS256 keys from the start where configured', async () => {
    // With a database of its own: the other server would store the first keys of a table that it finds empty.
    const server = await another({ env: { SIGNING_ALG: 'RS256' } })
    const response = await issued(await server.createClient(), server)
    assert.equal(headerOf(response).alg, 'RS256')
    await assertVerifies(response, server)
    const { json } = await server.request('GET', '/.well-known/openid-configuration')
    // go-oidc accepts only RS256 unless this member names another.
    assert.deepEqual(json.id_token_signing_alg_values_supported, ['RS256'])
  })

  describe('when the active one is revoked', () => {
    const revoke = (kid: string) =>
      auth.db.transaction((transaction) => markSigningKeyRevoked(transaction, kid))

    it('signs none begun later with the revoked key, in a flood', async () => {
      const [old, next] = (await published()) as [string, string]
      const kids: string[] = []
      let isRevoked = false
      const flood = async () => {
        for (const _ of Array(40)) {
          const begunLater = isRevoked
          const kid = await issuedKid()
          if (begunLater) assert.equal(kid, next)
          kids.push(kid)
        }
      }
      const flooding = Promise.all(Array.from({ length: 16 }, flood))
      await eventually(() => kids.length > 0)
      await revoke(old)
      isRevoked = true
      await flooding
      assert.deepEqual(new Set(kids), new Set([old, next]))
    })

    it('publishes no revoked key from then on, whichever state it was in, but a key that signs and a standby key', async () => {
      const [retired] = (await published()) as [string]
      // Keys age and the clock stays, since Postgres's clock says when a key was revoked: after it signed.
      await auth.db.raw(
        `update signing_keys set created_at = created_at - interval '10 minutes',
                                 activates_at = activates_at - interval '10 minutes'`,
      )
      const { active, standby } = await rotate('RS256')
      const server = await another()
      const kids = [retired, active.kid, standby.kid]
      assert.deepEqual(await published(server), kids)
      // The last of the key set first, and then again the last.
      for (const [kid, count] of [
        [standby.kid, 3],
        [active.kid, 3],
        [retired, 2],
      ] as const) {
        await revoke(kid)
        assert.ok(!(await published(server)).includes(kid), kid)
        await eventually(async () => (await published(server)).length === count)
      }
      const algs = await auth.db('signing_keys').orderBy('created_at').pluck('alg')
      assert.equal(algs.join(), 'ES256,ES256,RS256,RS256,RS256', 'a new key is not like the one before')
    })

    it('signs with the standby key at once even while Postgres is gone', async () => {
      await using server = await startAuth({ trusted: true })
      const owner = await server.createClient()
      const [old, next] = (await published(server)) as [string, string]
      assert.equal(await issuedKid(owner, server), old)
      const redis = await server.redis.connect('admin')
      await using _ = afterwards(await cutOffDatabase(server.database))
      await redis.set(redisKeys.revoked('key', old), '1')
      const response = await server.token(owner)
      assert.equal(response.status, 200, response.text)
      assert.equal(readKid(response), next)
    })

    it('waits for a new key when active and standby key are revoked', async () => {
      const [active, next] = (await published()) as [string, string]
      assert.equal(await issuedKid(), active)
      await revoke(next)
      // Activated and revoked by clocks that are ahead.
      const ahead = new Date(auth.clock.now() + MINUTE_MS)
      await auth.db('signing_keys').where({ kid: active }).update({ activates_at: ahead })
      await auth.db('revoked_signing_keys').insert({ kid: active, revoked_at: ahead })
      const inTheWay = await lockTable(auth.db, 'signing_keys')
      const answering = auth.token(client)
      await untilBlocked(auth.db)
      await inTheWay.rollback()
      const response = await answering
      assert.equal(response.status, 200, response.text)
      assert.ok(![active, next].includes(readKid(response)))
      const states = signingKeyStates(await listSigningKeys(auth.db), auth.clock.now() + 2 * MINUTE_MS)
      assert.equal(states.find(({ state }) => state === 'active')?.key.kid, readKid(response))
    })

    it('revokes a token of a new key that another process made and this one has not read yet', async () => {
      for (const kid of (await published()).reverse()) await revoke(kid)
      const server = await another()
      const token: string = (await issued(client, server)).json.access_token
      assert.equal((await auth.revokeToken(client, token)).status, 200)
      assert.equal((await auth.db('revoked_tokens').where({ jti: decodeJwt(token).jti })).length, 1)
    })
  })

  it('answers 503 when the active key is revoked and no other can be stored', async () => {
    const [active, next] = (await published()) as [string, string]
    for (const kid of [next, active]) await markRevoked(kid)
    await auth.db.raw('revoke insert on signing_keys from integration_auth')
    for (const _ of [1, 2]) assert.equal((await auth.token(client)).status, 503)
    await auth.db.raw('grant insert on signing_keys to integration_auth')
  })

  describe('in a process that runs', () => {
    let db: Database
    let end: () => void
    beforeEach(() => {
      db = createPostgres({ url: auth.database.authUrl, poolSize: 1, applicationName: APPLICATION })
    })
    afterEach(async () => {
      end()
      await db.destroy()
    })
    type Times = Record<'poll_ms' | 'pollUnable_ms', number>
    const start = async (times: Times & { rereadWait_ms?: number; fresh_ms?: number }) => {
      const keys = createKeyRing({ db, log: silentLog(), ...options(), ...times })
      await keys.start()
      const polling = setInterval(keys.poll, times.pollUnable_ms)
      end = () => clearInterval(polling)
      return keys
    }
    const listKids = async (keys: KeyRing): Promise<string[]> =>
      JSON.parse((await keys.jwks()) as string).keys.map(({ kid }: { kid: string }) => kid)

    /** Holds each read of the table after it has begun, until the returned function is called. */
    const holdReads = async (): Promise<() => Promise<void>> => {
      await auth.db.raw(`create policy held on signing_keys
        using (pg_advisory_xact_lock_shared(${HELD}) is not null) with check (true)`)
      await auth.db.raw('alter table signing_keys enable row level security')
      const holding = await auth.db.transaction()
      await holding.raw(`select pg_advisory_xact_lock(${HELD})`)
      return async () => void (await holding.rollback())
    }
    /** Whether a read by these keys is held: the server beside them reads too. */
    const readIsHeld = async (): Promise<boolean> => {
      const { rows } = await auth.db.raw(
        `select from pg_locks join pg_stat_activity using (pid)
         where objid = ? and not granted and application_name = ?`,
        [HELD, APPLICATION],
      )
      return rows.length > 0
    }

    it('reads keys again and again, and withdraws them on time even while Postgres is gone', async () => {
      const keys = await start({ poll_ms: 20, pollUnable_ms: 20 })
      const [old = '', next] = keys.live().map(({ key }) => key.kid)
      auth.clock.advance(STANDBY_MIN_MS)
      await rotate()
      await eventually(() => keys.signer()?.kid === next)
      assert.ok((await listKids(keys)).includes(old))
      assert.equal(typeof keys.find(old), 'object')
      await using _ = afterwards(await cutOffDatabase(auth.database))
      auth.clock.advance(KEEP_RETIRED_MS)
      await eventually(async () => !(await listKids(keys)).includes(old))
      assert.equal(keys.find(old), undefined, 'its private half is still there')
    })

    it('calls a key unknown while its last read is fresh, and knows one that another process stores', async () => {
      const keys = await start({ poll_ms: 20, pollUnable_ms: 20, fresh_ms: HOUR_MS })
      await using _ = afterwards(end)
      const stale = await start({ poll_ms: 20, pollUnable_ms: 20, fresh_ms: 1_000 })
      assert.equal(keys.find('other'), undefined)
      await auth.db.raw('truncate signing_keys cascade')
      await another()
      const [stored] = (await listSigningKeys(auth.db)) as [StoredSigningKey]
      for (const ring of [keys, stale]) await eventually(() => typeof ring.find(stored.kid) === 'object')
      assert.equal(keys.find('other'), undefined)
      await auth.db.raw('revoke select on signing_keys from integration_auth')
      assert.equal(keys.find('other'), undefined)
      await eventually(() => stale.find('other') === 'unreadable')
      assert.equal(typeof stale.find(stored.kid), 'object')
      // As after `key reencrypt` with a key that this process lacks: it keeps what it has decrypted.
      await auth.db('signing_keys').update({ private_key_encrypted: randomBytes(200) })
      await auth.db.raw('grant select on signing_keys to integration_auth')
      await eventually(() => stale.find('other') === undefined)
    })

    it('calls no key unknown between a withdrawal and the next read', async () => {
      const keys = await start({ poll_ms: HOUR_MS, pollUnable_ms: 20 })
      const [revoked = '', next = ''] = await listKids(keys)
      const release = await holdReads()
      await keys.withdraw(revoked)
      assert.equal(keys.find('other'), 'unreadable')
      assert.equal(typeof keys.find(next), 'object')
      await release()
      await eventually(() => keys.find('other') === undefined)
    })

    it('reads the table again after a withdrawal, even if a read from before the revocation is under way', async () => {
      const keys = await start({ poll_ms: 20, pollUnable_ms: 20, rereadWait_ms: MINUTE_MS })
      const [revoked = '', next] = await listKids(keys)
      const release = await holdReads()
      await eventually(readIsHeld)
      await markSigningKeyRevoked(auth.db, revoked)
      assert.equal((await keys.withdraw(revoked))?.kid, next)
      const published = listKids(keys)
      await release()
      const [signer, standby, ...others] = await published
      assert.deepEqual([signer, others], [next, []])
      assert.ok(standby !== undefined && standby !== revoked)
    })

    it('does not publish a withdrawn key again when a read from before the revocation ends', async () => {
      // Its own first poll would be the read that is held, and this one would come after the revocation.
      const keys = await start({ poll_ms: HOUR_MS, pollUnable_ms: HOUR_MS, rereadWait_ms: 0 })
      const [revoked = '', next] = await listKids(keys)
      const release = await holdReads()
      const seen: unknown[] = []
      const reading = keys.start().then(() => seen.push(keys.signer()?.kid))
      await eventually(readIsHeld)
      await auth.db.raw('revoke select on revoked_signing_keys from integration_auth')
      await keys.withdraw(revoked)
      await release()
      await reading
      assert.deepEqual(seen, [next])
      assert.ok(!(await listKids(keys)).includes(revoked))
    })

    it('answers the key set without the withdrawn key when the table cannot be read in time', async () => {
      const keys = await start({ poll_ms: HOUR_MS, pollUnable_ms: 20 })
      const [revoked = '', next] = await listKids(keys)
      const release = await holdReads()
      await passing(2_000, () => keys.withdraw(revoked))
      await eventually(readIsHeld)
      assert.deepEqual(await listKids(keys), [next])
      assert.ok(await readIsHeld(), 'not only after the read has failed')
      await release()
    })

    it('looks for keys more often while nothing can sign', async () => {
      const keys = await start({ poll_ms: HOUR_MS, pollUnable_ms: 20 })
      await auth.db.raw('revoke insert on signing_keys from integration_auth')
      for (const { key } of keys.live()) await markRevoked(key.kid)
      for (let kid = keys.signer()?.kid; kid !== undefined; ) kid = (await keys.withdraw(kid))?.kid
      await auth.db.raw('grant insert on signing_keys to integration_auth')
      await eventually(() => keys.signer() !== undefined)
    })
  })
})

describe('the state of a signing key', () => {
  const T = 1_800_000_000_000
  /** A key that is activated and revoked so long after T. */
  const key = (activates_ms: number | null, revoked_ms: number | null = null): StoredSigningKey => {
    const at = (after_ms: number | null) => (after_ms === null ? null : new Date(T + after_ms))
    return {
      kid: randomUUID(),
      alg: 'ES256',
      publicJwk: {},
      privateKeyEncrypted: Buffer.alloc(0),
      createdAt: new Date(T - 2 * HOUR_MS),
      activatesAt: at(activates_ms),
      revokedAt: at(revoked_ms),
    }
  }
  const rows: [string, StoredSigningKey[], SigningKeyState[]][] = [
    ['is active from its activation on', [key(0), key(null)], ['active', 'standby']],
    ['signs rather than nobody', [key(null)], ['active']],
    ['stands by while its activation lies ahead', [key(0), key(1)], ['active', 'standby']],
    ['is retired as soon as a newer one activates', [key(-1), key(0)], ['retired', 'active']],
    ['is gone when no token of it can live', [key(-HOUR_MS), key(-KEEP_RETIRED_MS)], ['gone', 'active']],
    [
      'is kept by the activation of its own successor, not of the newest',
      [key(-HOUR_MS), key(-KEEP_RETIRED_MS), key(0)],
      ['gone', 'retired', 'active'],
    ],
    ['is revoked whatever else', [key(-HOUR_MS, 0), key(0)], ['revoked', 'active']],
    [
      'takes over from a revoked one before anyone has activated it',
      [key(-HOUR_MS, 0), key(null), key(null)],
      ['revoked', 'active', 'standby'],
    ],
    ['is active when the standby is revoked', [key(-HOUR_MS), key(null, -MINUTE_MS)], ['active', 'revoked']],
    [
      'stays active when the next one is revoked before its time',
      [key(-HOUR_MS), key(-MINUTE_MS, -2 * MINUTE_MS)],
      ['active', 'revoked'],
    ],
    ['stays retired when the next is revoked', [key(-HOUR_MS), key(-MINUTE_MS, 0)], ['retired', 'revoked']],
  ]
  for (const [name, keys, states] of rows) it(name, () => assert.deepEqual(listStates(keys, T), states))
})
