import assert from 'node:assert/strict'
import { mock } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#shared/process/clock.ts'
import { createMetrics } from '#shared/process/metrics.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { startJobs } from '../../apps/api/jobs.ts'
import type { MailSettings } from '../../apps/api/mail/settings.ts'
import { measurePurges } from '../../apps/api/metrics.ts'
import { listPurges } from '../../apps/api/purges.ts'
import { REVOKED_TOKEN_PURGE } from '../../apps/api/revocation/start-reconciling.ts'
import { createSessionPurge } from '../../apps/api/sessions/session-events.ts'
import { deleteStep, type Purge, readOverdue, runPurges } from '../../apps/api/stores/purge.ts'
import { USAGE_PURGES } from '../../apps/api/usage/purge.ts'
import { sharedApi, startApi } from '../support/api.ts'
import { afterwards } from '../support/block.ts'
import { stoppedTime } from '../support/clock.ts'
import { freshDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createTestLog, loggedEvents, silentLog } from '../support/log.ts'

const DAY_S = 86_400

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
      const { log, lines } = createTestLog()
      await deleteStep({ db: api.apiDb, now_ms: api.clock.now() }, createSessionPurge(log), limit)
      for (const line of lines)
        assert.partialDeepStrictEqual(line, { event: 'session.ended', userId, why: 'expired' })
      return lines.map(({ sessionId }) => sessionId).sort()
    }
    assert.deepEqual(
      [await remove(2), await remove(100), await remove(100)],
      [stored.slice(0, 2).sort(), stored.slice(2, 4).sort(), []],
    )
    assert.equal((await api.request('GET', '/v1/session', { token: live })).status, 200)
  })
})

describe('a round of purges', () => {
  const database = freshDatabase()
  const { log, lines } = createTestLog()
  const never = () => false
  let db: Database
  beforeEach(() => {
    db = database.api
    lines.length = 0
  })

  const HOURS = 'client_usage_hourly'
  const [hourPurge] = USAGE_PURGES as [Purge]
  const insertOldHours = (rows: number) =>
    database.owner.raw(
      `insert into client_usage_hourly
       select 'cli_x', timestamptz '2020-01-01Z' + n * interval '1 hour', 1 from generate_series(1, ?::int) as n`,
      [rows],
    )
  const hours = async () => (await database.owner(HOURS)).length
  const run = (purges: Purge[], { every_ms = 60_000, isEnding = never, clock = systemClock } = {}) =>
    runPurges({ db, clock, log, purges, every_ms }, isEnding)
  /** A purge that always leaves more. */
  const endless = (deleteRows: Purge['deleteRows']): Purge => ({ ...hourPurge, kind: 'endless', deleteRows })

  it('goes on until nothing is left', async () => {
    await insertOldHours(12_345)
    await run([hourPurge])
    assert.equal(await hours(), 0)
    assert.partialDeepStrictEqual(lines, [
      { event: 'housekeeping.done', deleted: { [HOURS]: 12_345 }, unfinished: [] },
    ])
  })

  it('stops at half of the interval, and says what is unfinished', async () => {
    using time = stoppedTime()
    let batches = 0
    const slow = async (_: unknown, { limit }: { limit: number }) => {
      batches += 1
      time.advance(100)
      return { rowCount: limit }
    }
    await run([endless(slow)], { every_ms: 1_000 })
    assert.equal(batches, 5)
    assert.partialDeepStrictEqual(lines, [{ event: 'housekeeping.done', unfinished: ['endless'] }])
  })

  it('takes a step of each purge in turn', async () => {
    await insertOldHours(6_000)
    const left: number[] = []
    const other = endless(async (_, { limit }) => {
      left.push(await hours())
      return { rowCount: left.length === 3 ? 0 : limit }
    })
    await run([other, hourPurge])
    assert.deepEqual(left, [6_000, 1_000, 0])
  })

  for (const [what, off_ms] of [
    ['a clock a year ahead', 365 * DAY_S * 1_000],
    ['a clock three minutes ahead', 180_000],
    ['a clock three minutes behind', -180_000],
  ] as const)
    it(`deletes nothing by ${what}`, async () => {
      await insertOldHours(3)
      const clock = { now: () => systemClock.now() + off_ms }
      await assert.rejects(run([hourPurge], { clock }), /clocks of this process and Postgres differ/)
      assert.equal(await hours(), 3)
    })

  it('deletes by the time that Postgres confirmed although the clock jumps after it', async () => {
    await database.owner.raw(`insert into client_usage_hourly values ('cli_x', now(), 1)`)
    let reads = 0
    const clock = { now: () => systemClock.now() + (++reads > 2 ? 365 * DAY_S * 1_000 : 0) }
    await run([hourPurge], { clock })
    assert.equal(await hours(), 1)
  })

  it('logs a purge that fails, and runs the next', async () => {
    await insertOldHours(3)
    await run([endless(() => Promise.reject(new Error('no right to do this'))), hourPurge])
    assert.equal(await hours(), 0)
    assert.partialDeepStrictEqual(lines, [
      { event: 'housekeeping.failed', what: 'purging endless', error: 'no right to do this' },
      { event: 'housekeeping.done', deleted: { [HOURS]: 3 } },
    ])
  })

  it('waits two seconds at most for a lock', async () => {
    await insertOldHours(3)
    const blocker = await database.owner.transaction()
    await using _ = afterwards(() => blocker.rollback())
    await blocker.raw('lock table client_usage_hourly in share mode')
    const started_ms = performance.now()
    await run([hourPurge])
    assert.ok(performance.now() - started_ms < 4_000)
    assert.match(String(lines[0]?.error), /canceling statement due to lock timeout/)
  })

  it('repeats a step that ran out of time with fewer rows', async () => {
    await insertOldHours(1_200)
    const slow = endless(async (transaction, range) => {
      if (range.limit > 500) await transaction.raw("set local statement_timeout = '20ms'")
      if (range.limit > 500) await transaction.raw('select pg_sleep(1)')
      return hourPurge.deleteRows(transaction, range)
    })
    await run([slow])
    assert.equal(await hours(), 0)
    assert.equal(lines.map(({ event }) => event).join(), 'housekeeping.done')
  })

  it('takes over from a process that purges the same and vanishes', async () => {
    await insertOldHours(7)
    const other = await database.owner.transaction()
    await using _ = afterwards(() => other.rollback())
    await other.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`purge of ${HOURS}`])
    const done = run([hourPurge])
    await sleep(300)
    assert.equal(await hours(), 7, 'it ran beside the other')
    await other.rollback()
    await done
    assert.equal(await hours(), 0)
  })

  it('ends after the step under way when the process stops', async () => {
    let steps = 0
    const counted = () =>
      endless(async (_, { limit }) => {
        steps += 1
        return { rowCount: limit }
      })
    await run([counted(), counted()], { isEnding: () => steps === 1 })
    assert.equal(steps, 1)
  })
})

const HASH = `'\\x${'00'.repeat(32)}'`
const OF_USER = `values (${HASH}, 'u', 'epoch', AT)`
const MAIL = `mails (kind, topic, detail, is_urgent, created_at, due_at) values ('k', 't', '{}', false, AT, AT)`
const EVENT = `analytics_events_default values ('v', 'e', 'click', AT, AT, AT, 1)`
const VANISHED = `gen_random_uuid(), 1, AT, null, 'integration_auth', AT::timestamptz`

/** For each kind: how long a row is kept after its time, in seconds, and what inserts one of the time AT. */
const OLD_ROWS: [kind: string, kept_s: number, insert: string][] = [
  ['sessions', 0, `sessions (token_hash, user_id, created_at, expires_at) ${OF_USER}`],
  ['invitations', 30 * DAY_S, `invitations values ('usr_x', 'v', 'a@b', 'n', 'member', 'u', 'epoch', AT)`],
  // What is told only once stays, once it is sent.
  ['mails', 30 * DAY_S, `${MAIL}, ('replaced_client_quiet', 't', '{}', false, AT, null)`],
  ['unsent_mails', 3_600, MAIL],
  ['password_resets', 0, `password_resets ${OF_USER}`],
  ['sign_in_addresses', 30 * DAY_S, `sign_in_addresses values ('u', '192.0.2.1', AT)`],
  ['sign_in_browsers', 400 * DAY_S, `sign_in_addresses values ('u', 'browser:x', AT)`],
  ['client_creation_keys', DAY_S, `client_creation_keys values ('v', 'u', 'k', ${HASH}, 'c', AT)`],
  ['client_usage_hourly', 15 * DAY_S, `client_usage_hourly values ('c', AT, 1)`],
  ['client_usage_by_minute', 7_200, `client_usage_by_minute values ('c', AT, 1, 0)`],
  // By days, of which the whole day counts.
  ['client_address_usage', 101 * DAY_S, `client_address_usage values ('c', AT, '::1', 1, now(), now())`],
  ['analytics_event_ids', 36 * DAY_S, `analytics_event_ids values ('v', 'e', AT)`],
  // Of those that vanished, the last stays.
  ['usage_writers', DAY_S, `usage_writers values (${VANISHED}), (${VANISHED} + '1 s'::interval)`],
  ['analytics_events_default', 90 * DAY_S, EVENT],
  ['revoked_tokens', 3_600, `revoked_tokens values ('jti', null, AT, AT)`],
]
const DAY_COLUMNS = ['client_address_usage', 'analytics_event_ids']

describe('the gauge of what should be gone', () => {
  const database = freshDatabase()
  const settings = { EVENT_RETENTION_DAYS: 90, EVENT_IDS_REMEMBERED_DAYS: 35 }
  const purges = [...listPurges(settings, silentLog()), REVOKED_TOKEN_PURGE]

  it('knows every purge', () => {
    const kinds = [...OLD_ROWS.map(([kind]) => kind), 'analytics_events']
    assert.deepEqual(purges.map(({ kind }) => kind).sort(), kinds.sort())
  })

  it('deletes no mail that waits where mail is sent', () => {
    const where = listPurges({ ...settings, mail: {} as MailSettings }, silentLog())
    assert.ok(where.every(({ kind }) => kind !== 'unsent_mails'))
  })

  for (const [kind, kept_s, insert] of OLD_ROWS)
    it(`says for how long ${kind} are late, until they are deleted`, async () => {
      const { owner, api: db } = database
      const now_ms = Date.now()
      const clock = { now: () => now_ms }
      const purge = purges.find((each) => each.kind === kind) as Purge
      const metrics = createMetrics({ service: 'test' })
      measurePurges(metrics, { db, clock, purges })
      using time = stoppedTime()
      const overdue = async () => {
        // It reads once a minute.
        time.advance(60_001)
        const gauge = await metrics.registry.getSingleMetric('integration_purge_overdue_seconds')?.get()
        return gauge?.values.find(({ labels }) => labels.kind === kind)?.value
      }
      const insertAt = (at_ms: number) =>
        owner.raw(
          `set session_replication_role = replica;
           insert into ${insert.replaceAll('AT', `'${new Date(at_ms).toISOString()}'`)}`,
        )
      const due_ms = now_ms - kept_s * 1_000
      await insertAt(due_ms + (DAY_COLUMNS.includes(kind) ? DAY_S * 1_000 : 10_000))
      assert.deepEqual([await overdue(), await deleteStep({ db, now_ms }, purge, 100)], [0, 0])
      await owner.raw(`delete from ${insert.split(' ')[0]}`)
      const at_ms = due_ms - 1_000_000
      await insertAt(at_ms)
      const beginsDay_s = DAY_COLUMNS.includes(kind) ? (at_ms / 1_000) % DAY_S : 0
      assert.ok(Math.abs(Number(await overdue()) - 1_000 - beginsDay_s) < 0.01)
      assert.deepEqual([await deleteStep({ db, now_ms }, purge, 100), await overdue()], [1, 0])
    })

  it('counts a week of events from its end', async () => {
    const { owner, api: db } = database
    await owner.raw(
      `create table analytics_events_20200106 partition of analytics_events
       for values from ('2020-01-06Z') to ('2020-01-13Z')`,
    )
    const now_ms = Date.parse('2020-01-13Z') + (90 * DAY_S + 5) * 1_000
    assert.equal((await readOverdue(db, { now_ms, purges })).get('analytics_events'), 5)
  })
})

describe('the jobs of a process', () => {
  it('are all that there are, each as often as it has to', async () => {
    const { mock: timers } = mock.method(globalThis, 'setInterval')
    const env = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'mail@acme.example', FOUND_SECRETS: 'revoke' }
    await using api = await startApi({ env })
    timers.restore()
    const jobs = timers.calls.map(({ arguments: args }) => args).filter(([run]) => run.name === 'start')
    const intervals = jobs.map(([, every_ms]) => every_ms)
    assert.deepEqual(intervals, [2_000, 2_000, 300_000, 60_000, 600_000])
    for (const kind of ['tables', 'functions'])
      await api.db.raw(`revoke all on all ${kind} in schema public from integration_api, public`)
    // Each step fails now, and says so by its name; those that delete do it for each table.
    const failed = () => new Set(loggedEvents(api, 'housekeeping.failed').map(({ what }) => what))
    const steps = () => [...failed()].filter((what) => !/^purging/.test(String(what)))
    const haveFailed = () => {
      for (const [run] of jobs) run()
      return steps().length === 8
    }
    await eventually(haveFailed, { otherwise: () => steps().join() })
  })

  it('write at its start the mails that are due, since it may end before five minutes are over', async () => {
    await using api = await startApi({ startsAt: '2026-01-14T12:00:00Z' })
    const expiresAt = new Date('2026-01-15T12:00:00Z')
    await (await api.createOwner()).createClient({ createdAt: new Date('2025-01-15'), expiresAt })
    const env = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'mail@acme.example' }
    await using _ = await startApi({ beside: api, env })
    await eventually(() => api.db('mails').where({ kind: 'clients_expire' }).first())
  })
})

describe('the jobs beside the requests', () => {
  const log = silentLog()
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

  it('run the next step of a job after one that fails, and log which failed, how often and why', async () => {
    const { log, lines } = createTestLog()
    const done = Promise.withResolvers<void>()
    const reasons = ['a lock', 'no right', 'a lock', 'too late', 'too large'].map((why) => new Error(why))
    const steps = {
      'deleting old usage': () => Promise.reject(reasons[0]),
      'deleting each session': () => Promise.reject(new AggregateError(reasons)),
      'ending expired sessions': async () => done.resolve(),
    }
    const stop = startJobs([{ every_ms: EVERY_MS, runAtStart: true, steps }], log)
    await done.promise
    await stop()
    const failed = { level: 40, event: 'housekeeping.failed' }
    assert.partialDeepStrictEqual(lines, [
      { ...failed, what: 'deleting old usage', error: 'a lock' },
      { ...failed, what: 'deleting each session', failures: 5, error: 'a lock; no right; too late' },
    ])
    assert.equal(lines.length, 2)
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
