import assert from 'node:assert/strict'
import { pino } from 'pino'
import {
  ensureSigningKeys,
  insertSigningKey,
  listSigningKeys,
  newSigningKey,
  rotateWhenDue,
  type SigningAlg,
  STANDBY_MIN_MS,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import { createMetrics } from '#shared/process/metrics.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { readAuthConfig } from '../../apps/auth/config.ts'
import { createKeyRing } from '../../apps/auth/key-ring.ts'
import { measureKeys } from '../../apps/auth/metrics.ts'
import { markSigningKeyRevoked, rotateSigningKey } from '../../infra/admin/keys.ts'
import { startAuth, type TestAuth, type TestAuthOptions } from '../support/auth.ts'
import { eventually } from '../support/eventually.ts'
import { testOperator } from '../support/operator.ts'
import { cutOffDatabase } from '../support/stores.ts'

const DAYS = 30
const DAY_MS = 24 * 3_600_000
const CHECK_VIOLATION = { code: '23514' }

describe('ROTATE_KEYS_EVERY_DAYS', () => {
  let auth: TestAuth
  /** As the authorization server. */
  let db: Database
  let lines: Record<string, unknown>[]

  beforeEach(async () => {
    auth = await startAuth()
    db = createPostgres({ url: auth.database.authUrl, poolSize: 4, applicationName: 'rotation' })
    lines = []
  })
  afterEach(async () => {
    await db.destroy()
    await auth.stop()
  })

  const options = (alg: SigningAlg = 'ES256') => ({
    alg,
    encryptionKey: [auth.encryptionKey],
    clock: auth.clock,
    rotateAfter_days: () => DAYS,
    log: pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  })
  const stored = () => listSigningKeys(auth.db)
  const states = async () =>
    signingKeyStates(await stored(), auth.clock.now()).map(({ key, state }) => [key.kid, state])
  const events = () => lines.map(({ event }) => event)
  const revoke = (kid: string) =>
    auth.db.transaction((transaction) => markSigningKeyRevoked(transaction, kid, auth.clock.now()))

  it('has the standby key sign after the days of a schedule, not a moment earlier, and then not again', async () => {
    const [active, standby] = (await stored()) as [StoredSigningKey, StoredSigningKey]
    const before = await states()
    auth.clock.advance(DAYS * DAY_MS - 1)
    await rotateWhenDue(db, options())
    assert.deepEqual(await states(), before)
    auth.clock.advance(1)
    await rotateWhenDue(db, options())
    const [[, next = '']] = (await states()).slice(2) as [[string, string]]
    assert.equal(next, 'standby')
    assert.deepEqual((await states()).slice(0, 2), [
      [active.kid, 'retired'],
      [standby.kid, 'active'],
    ])
    const rotated = await states()
    for (const _ of [1, 2, 3]) await rotateWhenDue(db, options())
    assert.deepEqual(await states(), rotated)
    auth.clock.advance(DAYS * DAY_MS)
    await rotateWhenDue(db, options())
    assert.equal((await states()).length, 4)
  })

  it('lets one of several processes rotate keys that all find them due at once', async () => {
    auth.clock.advance(DAYS * DAY_MS)
    await Promise.all([1, 2, 3].map(() => rotateWhenDue(db, options())))
    assert.deepEqual(
      (await states()).map(([, state]) => state),
      ['retired', 'active', 'standby'],
    )
    assert.deepEqual(events(), ['signing_key.rotated'])
  })

  it('rotates no second time by a clock that is behind that of the process which did', async () => {
    auth.clock.advance(DAYS * DAY_MS)
    await rotateWhenDue(db, { ...options(), clock: { now: () => auth.clock.now() + 60_000 } })
    await rotateWhenDue(db, options())
    assert.deepEqual(events(), ['signing_key.rotated'])
    auth.clock.advance(60_000)
    assert.deepEqual(
      (await states()).map(([, state]) => state),
      ['retired', 'active', 'standby'],
    )
  })

  it('delays a due rotation until every verifier can know the standby key', async () => {
    const [active, standby] = (await stored()) as [StoredSigningKey, StoredSigningKey]
    auth.clock.advance(DAYS * DAY_MS)
    await revoke(standby.kid)
    await ensureSigningKeys(db, options())
    auth.clock.advance(STANDBY_MIN_MS - 1)
    await rotateWhenDue(db, options())
    assert.deepEqual((await states())[0], [active.kid, 'active'])
    auth.clock.advance(1)
    await rotateWhenDue(db, options())
    assert.deepEqual((await states())[0], [active.kid, 'retired'])
  })

  it('rotates on schedule to no key that the process cannot decrypt', async () => {
    auth.clock.advance(DAYS * DAY_MS)
    const before = await states()
    await rotateWhenDue(db, { ...options(), encryptionKey: [Buffer.alloc(32, 7)] })
    assert.deepEqual(await states(), before)
  })

  it('records a scheduled rotation among the acts of operators, and in the log', async () => {
    const [, standby] = (await stored()) as [StoredSigningKey, StoredSigningKey]
    auth.clock.advance(DAYS * DAY_MS)
    await rotateWhenDue(db, options())
    const { rows } = await auth.db.raw(
      'select vendor_id, user_id, operator, action, subject, detail from activity',
    )
    const next = (await stored()).at(-1)
    assert.deepEqual(rows, [
      {
        vendor_id: null,
        user_id: null,
        operator: 'auth (schedule)',
        action: 'signing_key.rotated',
        subject: standby.kid,
        detail: { standby: next?.kid, alg: 'ES256' },
      },
    ])
    assert.deepEqual(
      lines.map(({ event, kid }) => [event, kid]),
      [['signing_key.rotated', standby.kid]],
    )
  })

  it('keeps the algorithm that an operator changed to when it rotates on schedule', async () => {
    auth.clock.advance(STANDBY_MIN_MS)
    await rotateSigningKey(auth.db, { ...options('RS256'), by: testOperator() })
    auth.clock.advance(DAYS * DAY_MS)
    await rotateWhenDue(db, options('ES256'))
    assert.deepEqual(
      (await stored()).map(({ alg }) => alg),
      ['ES256', 'ES256', 'RS256', 'RS256'],
    )
  })

  it('counts the days of a schedule from the last rotation, whoever did it', async () => {
    auth.clock.advance((DAYS - 1) * DAY_MS)
    await rotateSigningKey(auth.db, { ...options(), by: testOperator() })
    auth.clock.advance(DAYS * DAY_MS - 1)
    await rotateWhenDue(db, options())
    assert.equal((await stored()).length, 3)
    auth.clock.advance(1)
    await rotateWhenDue(db, options())
    assert.equal((await stored()).length, 4)
  })

  it('makes up for a missed rotation after an outage of Postgres, which it logs, and after a late start', async () => {
    const [, standby] = (await stored()) as [StoredSigningKey, StoredSigningKey]
    const keys = createKeyRing({ ...options(), db, poll_ms: 20, pollUnable_ms: 20 })
    await keys.start()
    const restore = await cutOffDatabase(auth.database)
    auth.clock.advance(3 * DAYS * DAY_MS)
    const polling = setInterval(keys.poll, 20)
    try {
      await eventually(() => events().includes('signing_key.not_rotated'))
      await restore()
      await eventually(() => keys.signer()?.kid === standby.kid)
    } finally {
      clearInterval(polling)
      await restore()
    }
    assert.deepEqual((await states())[1], [standby.kid, 'active'])
    assert.equal(events().filter((event) => event === 'signing_key.rotated').length, 1)
  })

  it('measures the age of a signing key from when it began to sign', async () => {
    const metrics = createMetrics({ service: 'auth' })
    const keys = createKeyRing({ ...options(), db })
    measureKeys(metrics, keys, auth.clock)
    auth.clock.advance(DAYS * DAY_MS)
    await rotateWhenDue(db, options())
    auth.clock.advance(60_000)
    await keys.start()
    assert.match(await metrics.registry.metrics(), /^integration_signing_key_age_seconds\{.*\} 60$/m)
  })

  it('lets the authorization server begin with no key but one that has never signed', async () => {
    const [active, standby] = (await stored()) as [StoredSigningKey, StoredSigningKey]
    const begin = (next: string, following: string) =>
      db.raw('select rotate_signing_key(?, now(), ?)', [next, following])
    await assert.rejects(begin(active.kid, standby.kid), CHECK_VIOLATION)
    await assert.rejects(begin('none', standby.kid), CHECK_VIOLATION)
    await assert.rejects(begin(standby.kid, active.kid), CHECK_VIOLATION)
    await assert.rejects(begin(standby.kid, standby.kid), CHECK_VIOLATION)
    await revoke(standby.kid)
    await ensureSigningKeys(db, options())
    const other = (await stored()).find(({ kid }) => ![active.kid, standby.kid].includes(kid))?.kid ?? ''
    await assert.rejects(begin(standby.kid, other), CHECK_VIOLATION)
    assert.deepEqual((await auth.db.raw('select from activity')).rows, [])
  })

  it('takes a schedule of 1 to 1,000 days', () => {
    const env = {
      DATABASE_URL: 'postgres://localhost',
      REDIS_URL: 'redis://localhost',
      ISSUER: 'https://a.example',
    }
    const key = Buffer.alloc(32, 1).toString('base64')
    const read = (days: string) =>
      readAuthConfig({
        ...env,
        API_RESOURCE: env.ISSUER,
        KEY_ENCRYPTION_KEY: key,
        ROTATE_KEYS_EVERY_DAYS: days,
      }).ROTATE_KEYS_EVERY_DAYS
    assert.deepEqual([read(''), read('1'), read('1000')], [undefined, 1, 1_000])
    for (const days of ['0', '1001', '1.5', '-1', 'x'])
      assert.throws(() => read(days), /ROTATE_KEYS_EVERY_DAYS/)
  })

  describe('in a whole server', () => {
    async function statesAfter(given: TestAuthOptions): Promise<unknown[]> {
      auth.clock.advance(DAYS * DAY_MS)
      const extra = await newSigningKey({ ...options(), activatesAt: null })
      await insertSigningKey(auth.db, extra)
      const server = await startAuth({ beside: auth, ...given })
      try {
        assert.equal((await stored()).length, 3)
        // Having found a revoked key among its own, it answers once it has read the table again.
        await revoke(extra.kid)
        assert.equal((await server.request('GET', '/v1/oauth/jwks')).status, 200)
        return (await states()).flatMap(([kid, state]) => (kid === extra.kid ? [] : [state]))
      } finally {
        await server.stop()
      }
    }
    const env = { ROTATE_KEYS_EVERY_DAYS: String(DAYS) }

    it('rotates keys on schedule where one is set', async () => {
      assert.deepEqual(await statesAfter({ env }), ['retired', 'active', 'standby'])
    })

    it('rotates no keys by default', async () => {
      assert.deepEqual(await statesAfter({}), ['active', 'standby'])
    })

    it('rotates no keys while the clock of the server is wrong', async () => {
      const behind = async () => auth.clock.now() - DAY_MS
      const stores = { postgres: behind, redis: behind }
      assert.deepEqual(await statesAfter({ env, stores }), ['active', 'standby'])
    })
  })
})
