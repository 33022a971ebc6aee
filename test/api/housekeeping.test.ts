import assert from 'node:assert/strict'
import { mock } from 'node:test'
import { pino } from 'pino'
import { hashSecret } from '#shared/oauth/ids.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { reportFoundSecrets } from '../../apps/api/clients/changes.ts'
import { CREATION_KEY_LIFETIME_MS, deleteExpiredCreations } from '../../apps/api/clients/idempotency-keys.ts'
import { startHousekeeping } from '../../apps/api/housekeeping.ts'
import { endExpiredSessions } from '../../apps/api/sessions/session-events.ts'
import { usesMissingBefore } from '../../apps/api/usage/missing-uses.ts'
import { deleteOldUsage } from '../../apps/api/usage/usage.ts'
import { afterwards } from '../support/afterwards.ts'
import { sharedApi, startApi } from '../support/api.ts'
import { serviceRedis } from '../support/redis.ts'

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
    api.clock.advance(CREATION_KEY_LIFETIME_MS)
    owner.sessionToken = await api.createSession(owner.userId)
    const first = await create('new')
    const before = new Date(api.clock.now() - CREATION_KEY_LIFETIME_MS)
    assert.equal(await deleteExpiredCreations(api.apiDb, { before, limit: 100 }), 1)
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
    assert.equal(await deleteOldUsage(api.apiDb, { now: api.clock.now(), limit: 100 }), 2)
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
    const before = await usesMissingBefore(api.apiDb)
    await deleteOldUsage(api.apiDb, { now: api.clock.now(), limit: 100 })
    assert.deepEqual((await api.db('usage_writers').orderBy('batch').pluck('batch')).map(Number), [0, 23, 25])
    assert.deepEqual(await usesMissingBefore(api.apiDb), before)
  })
})

describe('the work beside the requests', () => {
  it('starts none anew while it is still in progress, so that the end waits for one alone', async () => {
    await using api = await startApi()
    const { secret } = await (await api.createOwner()).createClient()
    const db = api.apiDb
    await reportFoundSecrets(db, [{ secretHash: hashSecret(secret), source: null }])
    using redis = serviceRedis(api.redis.url('api'))
    const revocation = createRevocation({ redis, db })
    let begun = 0
    const first = Promise.withResolvers<void>()
    const slow = Promise.withResolvers<never>()
    const revoke = () => {
      begun += 1
      first.resolve()
      return slow.promise
    }
    mock.timers.enable({ apis: ['setInterval'] })
    await using _ = afterwards(() => mock.timers.reset())
    const end = startHousekeeping({
      db,
      clock: api.clock,
      log: pino({ level: 'silent' }),
      fetchKeys: async () => 'no_answer',
      eventRetention_days: 400,
      revokesFound: { ...revocation, revoke },
    })
    mock.timers.tick(2_000)
    await first.promise
    mock.timers.tick(20_000)
    slow.reject(new Error('Redis is away'))
    await end()
    assert.equal(begun, 1)
  })
})
