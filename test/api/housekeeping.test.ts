import assert from 'node:assert/strict'
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import {
  deleteExpiredIdempotencyKeys,
  IDEMPOTENCY_KEY_LIFETIME_MS,
} from '../../apps/api/clients/idempotency-keys.ts'
import { startJobs } from '../../apps/api/jobs.ts'
import { endExpiredSessions } from '../../apps/api/sessions/session-events.ts'
import { readUsesMissingBefore } from '../../apps/api/usage/missing-uses.ts'
import { deleteOldUsage } from '../../apps/api/usage/purge.ts'
import { sharedApi } from '../support/api.ts'

describe('what has expired', () => {
  const api = sharedApi()

  it('removes and logs expired sessions, a bounded number at a time, oldest first', async () => {
    const { userId } = await api.createPerson()
    for (let index = 0; index < 4; index += 1) {
      await api.createSession(userId)
      api.clock.advance(1_000)
    }
    api.clock.advance(12 * 3_600_000 - 2_000)
    const live = await api.createSession(userId)
    const stored = await api.db('sessions').orderBy('created_at').pluck('session_id')
    const remove = async (limit: number) => {
      const lines: string[] = []
      const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) })
      await endExpiredSessions({ db: api.apiDb, log }, { now: new Date(api.clock.now()), limit })
      return lines
        .map((line) => {
          const { sessionId, ...rest } = JSON.parse(line)
          const said = { level: 30, event: 'session.ended', userId, why: 'expired', msg: 'session ended' }
          assert.deepEqual(rest, said)
          return sessionId
        })
        .sort()
    }
    assert.deepEqual(
      [await remove(2), await remove(100), await remove(100)],
      [stored.slice(0, 2).sort(), stored.slice(2, 4).sort(), []],
    )
    assert.equal((await api.request('GET', '/v1/session', { token: live })).status, 200)
  })

  it('removes expired idempotency records, and no others', async () => {
    const owner = await api.createOwner()
    const create = (key: string) =>
      owner.request('POST', 'oauth-clients', {
        body: { name: 'x', scopes: ['boost:read'] },
        headers: { 'idempotency-key': key },
      })
    await create('old')
    api.clock.advance(IDEMPOTENCY_KEY_LIFETIME_MS)
    owner.sessionToken = await api.createSession(owner.userId)
    const first = await create('new')
    const before = new Date(api.clock.now() - IDEMPOTENCY_KEY_LIFETIME_MS)
    assert.equal(await deleteExpiredIdempotencyKeys(api.apiDb, { before, limit: 100 }), 1)
    const again = await create('new')
    assert.equal(again.status, 200)
    assert.equal(again.json.clientId, first.json.clientId)
  })

  it('removes hourly counts after 15 days', async () => {
    const { clientId } = await (await api.createOwner()).createClient()
    const hour = Math.floor(api.clock.now() / 3_600_000)
    for (const age of [0, 24, 359, 361, 500]) {
      await api.db.raw('insert into client_usage_hourly values (?, to_timestamp(? * 3600), 1)', [
        clientId,
        hour - age,
      ])
    }
    assert.equal(await deleteOldUsage(api.apiDb, { now_ms: api.clock.now(), limit: 100 }), 2)
  })

  it('removes all vanished processes but the last, and none that may be running', async () => {
    const writer = (ago_h: number) =>
      api.db.raw(
        `insert into usage_writers (writer, batch, flushed_at, lost_at)
         values (gen_random_uuid(), ?, clock_timestamp() - make_interval(hours => ?), null)`,
        [ago_h, ago_h],
      )
    await api.db('usage_writers').delete()
    for (const ago_h of [0, 23, 25, 26, 900]) await writer(ago_h)
    const before = await readUsesMissingBefore(api.apiDb)
    await deleteOldUsage(api.apiDb, { now_ms: api.clock.now(), limit: 100 })
    assert.deepEqual((await api.db('usage_writers').orderBy('batch').pluck('batch')).map(Number), [0, 23, 25])
    assert.deepEqual(await readUsesMissingBefore(api.apiDb), before)
  })
})

describe('the jobs beside the requests', () => {
  const log = pino({ level: 'silent' })
  const EVERY_MS = 2_000

  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }))
  afterEach(() => mock.timers.reset())

  it('start no job again while it is still running, so that the shutdown waits for one run alone', async () => {
    const slow = Promise.withResolvers<never>()
    let rounds = 0
    const step = () => {
      rounds += 1
      return slow.promise
    }
    const stop = startJobs([{ every_ms: EVERY_MS, steps: { step } }], log)
    mock.timers.tick(EVERY_MS)
    mock.timers.tick(10 * EVERY_MS)
    slow.reject(new Error('Redis is away'))
    await stop()
    assert.equal(rounds, 1)
  })

  it('run the next step of a job after one that fails, and log which failed', async () => {
    const lines: string[] = []
    const warnings = pino(
      { base: null, timestamp: false },
      { write: (line: string) => void lines.push(line) },
    )
    const done = Promise.withResolvers<void>()
    const steps = {
      'deleting old usage': () => Promise.reject(new Error('canceling statement due to statement timeout')),
      'ending expired sessions': async () => done.resolve(),
    }
    const stop = startJobs([{ every_ms: EVERY_MS, runAtStart: true, steps }], warnings)
    await done.promise
    await stop()
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      [
        {
          level: 40,
          event: 'housekeeping.failed',
          what: 'deleting old usage',
          error: 'canceling statement due to statement timeout',
          msg: 'housekeeping failed',
        },
      ],
    )
  })

  it('run again after a step that throws before it returns a promise', async () => {
    let rounds = 0
    const step = () => {
      rounds += 1
      throw new Error('not a promise')
    }
    const stop = startJobs([{ every_ms: EVERY_MS, steps: { step } }], log)
    for (let round = 1; round <= 2; round += 1) {
      mock.timers.tick(EVERY_MS)
      await nextTurn()
    }
    await stop()
    assert.equal(rounds, 2)
  })

  it('start no further step of a job once the process stops', async () => {
    const running = Promise.withResolvers<void>()
    const started: string[] = []
    const steps = {
      first: () => {
        started.push('first')
        return running.promise
      },
      second: async () => void started.push('second'),
    }
    const stop = startJobs([{ every_ms: EVERY_MS, runAtStart: true, steps }], log)
    const stopped = stop()
    running.resolve()
    await stopped
    assert.deepEqual(started, ['first'])
  })
})
