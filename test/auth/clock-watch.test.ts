import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '#shared/stores/postgres.ts'
import { storeClocks, watchClock } from '../../apps/auth/clock-watch.ts'
import { sharedAuth, startAuth } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { createTestClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

describe('a wrong clock of the authorization server', () => {
  const auth = sharedAuth({ trusted: true })
  let db: Database
  const redis = forBlock(() => auth.redis.connect('auth'))
  before(() => {
    db = auth.database.connect('auth')
  })

  const cases: [string, { own: number; postgres?: number; redis?: number }, boolean][] = [
    ['its own a minute off', { own: 1 }, true],
    ['its own three minutes ahead', { own: 3 }, false],
    ['its own three minutes behind', { own: -3 }, false],
    ["Postgres' two hours ahead", { own: 0, postgres: 120 }, true],
    ["Redis' two hours behind", { own: 0, redis: -120 }, true],
    ['three that all differ', { own: 0, postgres: 120, redis: -120 }, false],
  ]
  for (const [what, { own, postgres = 0, redis: redisAhead = 0 }, right] of cases) {
    it(`distinguishes a wrong clock from a right one: ${what}`, async () => {
      const clock = createTestClock()
      const real = storeClocks(db, redis)
      const shifted = (read: () => Promise<number>, minutes: number) => async () =>
        (await read()) + minutes * MINUTE_MS
      const watch = watchClock({
        clock,
        log: { error() {} } as never,
        stores: { postgres: shifted(real.postgres, postgres), redis: shifted(real.redis, redisAhead) },
      })
      clock.advance(own * MINUTE_MS)
      await watch.check()
      assert.equal(watch.isRight(), right)
    })
  }

  it('keeps the last verdict while undecided, and clears it as soon as one store agrees', async () => {
    const clock = createTestClock()
    const answering = storeClocks(db, redis)
    const stores = { ...answering }
    const logged: string[] = []
    const log = {
      warn: ({ event }: { event: string }) => void logged.push(event),
      error: ({ event }: { event: string }) => void logged.push(event),
    }
    const watch = watchClock({ clock, log: log as never, stores })
    const verdict = async () => {
      await watch.check()
      return watch.isRight()
    }
    const noAnswer = () => Promise.reject(new Error('no answer'))
    stores.redis = noAnswer
    assert.equal(await verdict(), true)
    assert.deepEqual(logged, [])
    clock.advance(3 * MINUTE_MS)
    assert.deepEqual([await verdict(), await verdict()], [true, true])
    assert.deepEqual(logged.splice(0), ['clock.unknown'])
    stores.redis = answering.redis
    assert.equal(await verdict(), false)
    stores.redis = noAnswer
    assert.equal(await verdict(), false)
    assert.deepEqual(logged, ['clock.wrong', 'clock.wrong'])
    clock.advance(-3 * MINUTE_MS)
    assert.equal(await verdict(), true)
  })

  it('notices a wrong clock while the process runs, sooner if undecided', async () => {
    const answering = storeClocks(db, redis)
    for (const [every_ms, answersAtFirst] of [
      [20, true],
      [HOUR_MS, false],
    ] as const) {
      const clock = createTestClock()
      const stores = { ...answering }
      const log = { warn() {}, error() {} } as never
      const watch = watchClock({ clock, log, stores, every_ms })
      if (!answersAtFirst) {
        stores.redis = () => Promise.reject(new Error('no answer'))
        clock.advance(3 * MINUTE_MS)
      }
      await watch.check()
      const polling = setInterval(watch.poll, 10)
      assert.equal(watch.isRight(), true)
      if (answersAtFirst) clock.advance(3 * MINUTE_MS)
      stores.redis = answering.redis
      await eventually(() => !watch.isRight()).finally(() => clearInterval(polling))
    }
  })

  it('knows a wrong clock when it has started, issues, introspects and publishes nothing by it and is not ready, but revokes tokens', async () => {
    const client = await auth.createClient()
    const service = await auth.createService()
    const { access_token: token } = (await auth.token(client)).json
    const behind = async () => {
      await sleep(50)
      return auth.clock.now() - 17 * MINUTE_MS
    }
    await using wrong = await startAuth({ beside: auth, stores: { postgres: behind, redis: behind } })
    const { status, json } = await wrong.request('GET', '/readyz')
    assert.deepEqual([status, json], [503, { status: 'not ready', waitingFor: ['clock'] }])
    for (const refused of [
      await wrong.token(client),
      await wrong.introspect(service, token),
      await wrong.request('GET', '/v1/oauth/revocations'),
    ])
      assert.deepEqual([refused.status, refused.json.error], [503, 'temporarily_unavailable'])
    assert.equal((await wrong.revokeToken(client, token)).status, 200)
    assert.ok(wrong.logLines.some((line) => line.includes('"event":"clock.wrong"')))
  })
})
