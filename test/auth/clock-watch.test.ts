import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import { type StoreClocks, storeClocks, watchClock } from '../../apps/auth/clock-watch.ts'
import { sharedAuth, startAuth } from '../support/auth.ts'
import { createTestClock, stoppedTime } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

describe('a wrong clock of the authorization server', () => {
  const auth = sharedAuth({ trusted: true })
  let real: StoreClocks
  before(async () => {
    real = storeClocks(auth.database.connect('auth'), await auth.redis.connect('auth'))
  })
  const noAnswer = () => Promise.reject(new Error('no answer'))

  const cases: [string, { own: number; postgres?: number; redis?: number; late?: number }, boolean][] = [
    ['its own a minute off', { own: 1 }, true],
    ['its own three minutes ahead', { own: 3 }, false],
    ['its own three minutes behind', { own: -3 }, false],
    ["Postgres' two hours ahead", { own: 0, postgres: 120 }, true],
    ["Redis' two hours behind", { own: 0, redis: -120 }, true],
    ['three that all differ', { own: 0, postgres: 120, redis: -120 }, false],
    ['two right ones that answer after minutes', { own: 0, late: 3 }, true],
  ]
  for (const [what, { own, postgres = 0, redis: redisAhead = 0, late = 0 }, right] of cases)
    it(`distinguishes a wrong clock from a right one: ${what}`, async () => {
      const clock = createTestClock()
      const shifted = (read: () => Promise<number>, minutes: number) => async () => {
        clock.advance(late * MINUTE_MS)
        return (await read()) + (minutes + 2 * late) * MINUTE_MS
      }
      const watch = watchClock({
        clock,
        log: { error() {} } as never,
        stores: { postgres: shifted(real.postgres, postgres), redis: shifted(real.redis, redisAhead) },
      })
      clock.advance(own * MINUTE_MS)
      await watch.check()
      assert.equal(watch.isRight(), right)
    })

  it('checks again after 15 seconds', async () => {
    let checks = 0
    const read = async () => {
      checks += 1
      return 0
    }
    const stores = { postgres: read, redis: read }
    const watch = watchClock({ clock: createTestClock(), log: { error() {} } as never, stores })
    using time = stoppedTime()
    await watch.check()
    for (const [later_ms, expected] of [
      [14_999, 2],
      [1, 4],
    ] as const) {
      time.advance(later_ms)
      watch.poll()
      assert.equal(checks, expected)
    }
  })

  it('keeps the last verdict while undecided, and clears it as soon as one store agrees', async () => {
    const clock = createTestClock()
    const stores = { ...real }
    const logged: string[] = []
    const note = ({ event }: { event: string }) => void logged.push(event)
    const watch = watchClock({ clock, log: { warn: note, error: note } as never, stores })
    const verdict = async () => {
      await watch.check()
      return watch.isRight()
    }
    stores.redis = noAnswer
    clock.advance(3 * MINUTE_MS)
    assert.deepEqual([await verdict(), logged.splice(0)], [false, ['clock.wrong']])
    clock.advance(-3 * MINUTE_MS)
    assert.deepEqual([await verdict(), logged], [true, []])
    clock.advance(3 * MINUTE_MS)
    assert.deepEqual([await verdict(), await verdict()], [true, true])
    assert.deepEqual(logged.splice(0), ['clock.unknown'])
    stores.redis = real.redis
    assert.equal(await verdict(), false)
    stores.redis = noAnswer
    assert.deepEqual([await verdict(), await verdict()], [false, false])
    assert.deepEqual(logged, ['clock.wrong', 'clock.wrong'])
    clock.advance(-3 * MINUTE_MS)
    assert.equal(await verdict(), true)
  })

  it('checks again at once while undecided', async () => {
    const clock = createTestClock()
    const stores = { ...real }
    const watch = watchClock({ clock, log: { warn() {}, error() {} } as never, stores, every_ms: HOUR_MS })
    await watch.check()
    clock.advance(3 * MINUTE_MS)
    stores.redis = noAnswer
    await watch.check()
    assert.equal(watch.isRight(), true)
    stores.redis = real.redis
    watch.poll()
    await eventually(() => !watch.isRight())
  })

  it('checks its clock again while it runs', async () => {
    let ahead_ms = 0
    const read = async () => auth.clock.now() + ahead_ms
    await using server = await startAuth({ beside: auth, stores: { postgres: read, redis: read } })
    ahead_ms = 3 * MINUTE_MS
    using time = stoppedTime()
    const isNoticed = async () => {
      time.advance(1_000)
      return (await server.request('GET', '/readyz')).status === 503
    }
    await eventually(isNoticed, { limit_ms: 600_000 })
  })

  it('knows a wrong clock when it has started, and revokes tokens all the same', async () => {
    const client = await auth.createClient()
    const { access_token: token } = (await auth.token(client)).json
    const behind = async () => {
      await sleep(50)
      return auth.clock.now() - 17 * MINUTE_MS
    }
    await using wrong = await startAuth({ beside: auth, stores: { postgres: behind, redis: behind } })
    assert.equal((await wrong.token(client)).status, 503)
    assert.equal((await wrong.revokeToken(client, token)).status, 200)
  })
})
