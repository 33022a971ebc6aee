import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { areApart, clockOffset_ms } from '#shared/revocation/clocks.ts'
import { insertRevokedToken } from '#shared/revocation/state.ts'
import type { Step } from '../../apps/api/revocation/round.ts'
import { type Reconciling, startReconciling } from '../../apps/api/revocation/start-reconciling.ts'
import { afterwards } from '../support/block.ts'
import { letPostgresClockMove } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { FAST, newJti, sharedStores, type TestProcess } from '../support/revocation.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

describe('how far a clock is ahead of the one it is read by', () => {
  const read = { before_ms: 1_000, after_ms: 1_400 }
  for (const [what, theirs_ms, ahead_ms] of [
    ['behind, counted from before it was asked', 900, -100],
    ['perhaps the same, from the moment that it was asked', 1_000, 0],
    ['perhaps the same, up to the answer', 1_400, 0],
    ['ahead, counted from the answer', 1_500, 100],
  ] as const)
    it(`finds another clock ${what}`, () => assert.equal(clockOffset_ms(theirs_ms, read), ahead_ms))
})

describe('three clocks, of which any two may be two minutes apart', () => {
  for (const [postgres_ms, redis_ms, apart] of [
    [0, 0, false],
    [0, -2 * MINUTE_MS, false],
    [2 * MINUTE_MS + 1, 0, true],
    [0, -2 * MINUTE_MS - 1, true],
    [-HOUR_MS, -HOUR_MS, true],
    // Each is less than two minutes from this process, and they are more than that apart.
    [75_000, -75_000, true],
  ] as const)
    it(`finds Postgres ${postgres_ms} ms and Redis ${redis_ms} ms ahead ${apart ? 'too far' : 'near enough'}`, () =>
      assert.equal(areApart({ postgres_ms, redis_ms }), apart))
})

describe('wall clocks that differ', () => {
  const stores = sharedStores()
  let api: TestProcess
  let auth: TestProcess
  let lines: { level: number; event: string; msg: string; postgres_ms?: number; redis_ms?: number }[]
  let ownShift_ms: number
  let reconciling: Reconciling
  let start: () => Reconciling
  let rounds = 0

  before(async () => {
    await letPostgresClockMove(stores.db)
    // It has a search path of its own.
    await stores.db.raw('alter function purge_expired_revoked_tokens set search_path = public, pg_catalog')
    ;[api, auth] = await Promise.all([stores.start('api'), stores.start('auth')])
  })
  beforeEach(async () => {
    lines = []
    await shift({})
    const { redis, db } = api
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    const clock = { now: () => Date.now() + ownShift_ms }
    const onStep = (now: Step) => {
      if (now === 'read') rounds += 1
    }
    start = () => startReconciling({ redis, db, timings: FAST, log, clock, onStep, purgeEvery_ms: 50 })
    reconciling = start()
    await until(isTrusted)
  })
  afterEach(() => reconciling.stop())

  async function shift({ postgres_ms = 0, own_ms = 0 }): Promise<void> {
    await stores.db.raw(`update clock_shift set by = make_interval(secs => ?)`, [postgres_ms / 1_000])
    ownShift_ms = own_ms
  }

  const until = (condition: () => boolean | Promise<boolean>) =>
    eventually(condition, { every_ms: 10, otherwise: () => JSON.stringify(lines) })
  const isTrusted = async () => (await api.ask({ clientId: 'cli_x' })) === 'live by redis'
  const flush = () => stores.asAdmin((redis) => redis.flushall())
  const moreRounds = (least = 5) => {
    const before = rounds
    return until(() => rounds > before + least)
  }
  const errors = () => lines.filter(({ level }) => level === 50)

  for (const [whose, shifts, isClockRight] of [
    ['Postgres is two hours ahead', { postgres_ms: 2 * HOUR_MS }, true],
    ['this process is an hour ahead', { own_ms: HOUR_MS }, false],
  ] as const)
    it(`refuses a revoked client after a flush, decided by Postgres: ${whose}`, async () => {
      const clientId = await stores.newClient()
      await stores.revoke(api, clientId)
      await shift(shifts)
      await flush()
      for (const end = performance.now() + 3 * FAST.settle_ms; performance.now() < end; await sleep(20))
        for (const process of [api, auth])
          assert.equal(await process.ask({ clientId }), 'client revoked by postgres')
      assert.equal(await isTrusted(), false)
      assert.equal(reconciling.latest()?.outcome, 'clocks_apart')
      assert.equal(reconciling.isClockRight(), isClockRight)
      assert.deepEqual(
        errors().map(({ event }) => event),
        [isClockRight ? 'clocks.apart' : 'clock.wrong'],
      )
      const setPolicy = (policy: string) =>
        stores.asAdmin((redis) => redis.config('SET', 'maxmemory-policy', policy))
      await using _ = afterwards(() => setPolicy('noeviction'))
      await setPolicy('allkeys-lru')
      await until(() => reconciling.latest()?.outcome === 'failed')
      assert.equal(reconciling.isClockRight(), isClockRight, 'a failed round knows no better')
      await reconciling.stop()
      reconciling = start()
      await reconciling.firstRound
      assert.equal(reconciling.isClockRight(), false, 'no store agrees with a process that starts')
      await shift({})
      await until(() => reconciling.isClockRight())
    })

  it('reports once, as an error, by how much each store’s clock differs', async () => {
    await shift({ postgres_ms: 2 * HOUR_MS })
    await until(() => errors().length > 0)
    await moreRounds()
    assert.equal(errors().length, 1)
    const [{ postgres_ms = 0, redis_ms = 0 } = {}] = errors()
    assert.ok(Math.abs(postgres_ms - 2 * HOUR_MS) < MINUTE_MS, String(postgres_ms))
    assert.ok(Math.abs(redis_ms) < MINUTE_MS, String(redis_ms))
    await shift({})
    await until(isTrusted)
    assert.equal(lines.at(-1)?.msg, 'revocation: Redis is trusted')
  })

  it('purges nothing live while clocks differ', async () => {
    const [clientId, jti] = [await stores.newClient(), newJti()]
    await insertRevokedToken(stores.db, { jti, clientId, expiresAt: new Date(Date.now() + 900_000) })
    await shift({ postgres_ms: 2 * HOUR_MS })
    await until(() => errors().length > 0)
    await moreRounds()
    assert.deepEqual(await stores.db('revoked_tokens').pluck('jti'), [jti])
    // Proves that it would have been removed.
    await stores.db.raw('select purge_expired_revoked_tokens(1000)')
    assert.deepEqual(await stores.db('revoked_tokens').pluck('jti'), [])
  })

  it('refuses a client revoked while the clock of Postgres was hours behind', async () => {
    const clientId = await stores.newClient()
    await shift({ postgres_ms: -5 * HOUR_MS })
    await stores.revoke(api, clientId)
    await shift({})
    await flush()
    await until(isTrusted)
    for (const process of [api, auth])
      assert.equal(await process.ask({ clientId }), 'client revoked by redis')
  })
})
