import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createLease, type Lease } from '#shared/revocation/lease.ts'
import { createRedis, type Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { asAdmin, FAST } from '../support/revocation.ts'
import { createTestRedis } from '../support/servers.ts'

const LEASE_MS = 1_000
const SENT_AT_MS = 5_000

describe('for how long a process believes a marker', () => {
  const server = forBlock(createTestRedis)
  let redis: Redis
  let lease: Lease
  let now_ms: number
  let count: number

  /** One tick, sent at SENT_AT_MS and answered some time later. */
  beforeEach(async () => {
    redis = createRedis({ url: server.url('auth'), connectionName: 'test' })
    if (redis.status !== 'ready') await once(redis, 'ready')
    now_ms = SENT_AT_MS
    const timings = { ...FAST, lease_ms: LEASE_MS, tick_ms: 3_600_000 }
    lease = createLease({ redis, timings, monotonic: () => now_ms, onTick() {} })
    now_ms += LEASE_MS / 2
    await eventually(() => lease.isUsable())
    count = Number(await asAdmin(server, (admin) => admin.get(redisKeys.revocationTick)))
  })
  afterEach(() => redis.disconnect())

  const isValid = (marker: string, after_ms: number) => lease.isMarkerValid(marker, SENT_AT_MS + after_ms)

  it('believes a marker for lease_ms from the tick before its round, whatever Redis’ clock does', () => {
    assert.equal(isValid(`${lease.serverRunId()} ${count}`, LEASE_MS - 1), true)
    assert.equal(isValid(`${lease.serverRunId()} ${count}`, LEASE_MS), false)
    assert.equal(isValid(`${lease.serverRunId()} ${count + 1}`, LEASE_MS), false)
  })

  it('believes no marker whose round may precede every tick that the process sent', () =>
    assert.equal(isValid(`${lease.serverRunId()} ${count - 1}`, 0), false))

  it('believes no marker of another server, or a missing one', () => {
    assert.equal(isValid(`${'0'.repeat(40)} ${count}`, 0), false)
    assert.equal(isValid('', 0), false)
    assert.equal(lease.isMarkerValid(null, SENT_AT_MS), false)
  })

  it('believes a marker for a whole lease, however many ticks were sent in it', async () => {
    const first = count + 1
    const believed = new Promise<boolean>((resolve) => {
      let ticks = 0
      const onTick = () => {
        ticks += 1
        if (ticks === 15) resolve(ticking.isMarkerValid(`${lease.serverRunId()} ${first}`, SENT_AT_MS))
      }
      const timings = { ...FAST, lease_ms: LEASE_MS, tick_ms: LEASE_MS / 20 }
      const ticking = createLease({ redis, timings, monotonic: () => SENT_AT_MS, onTick })
    })
    assert.equal(await believed, true)
  })

  it('reports after each tick, by the marker that the tick read', async () => {
    let ticks = 0
    const timings = { ...FAST, lease_ms: LEASE_MS, tick_ms: 10 }
    const ticking = createLease({ redis, timings, monotonic: () => now_ms, onTick: () => ticks++ })
    const reports = async (expected: boolean, marker?: string) => {
      const key = redisKeys.revocationMarker
      await asAdmin(server, (admin) => (marker ? admin.call('SET', key, marker) : admin.call('DEL', key)))
      // The next one may have been sent before.
      const [before, message] = [ticks, `${marker}: not ${expected}`]
      await eventually(() => ticks >= before + 2)
      await eventually(() => ticking.isTrusted() === expected, { otherwise: () => message })
    }
    const later = 1_000_000_000
    await reports(false)
    await reports(true, `${lease.serverRunId()} ${later}`)
    await reports(false, `${'0'.repeat(40)} ${later}`)
    await reports(true, `${lease.serverRunId()} ${later}`)
    await reports(false)
    await reports(true, `${lease.serverRunId()} ${later}`)
    ticking.suspect()
    assert.equal(ticking.isTrusted(), false)
    await eventually(ticking.isTrusted)
    now_ms += LEASE_MS
    assert.equal(ticking.isTrusted(), false)
  })

  it('is usable on another connection once its server has answered, and believes only by ticks on it', async () => {
    const runId = lease.serverRunId()
    redis.disconnect(true)
    await once(redis, 'close')
    assert.deepEqual([lease.isUsable(), isValid(`${runId} ${count}`, 0)], [false, false])
    await eventually(() => lease.isUsable())
    assert.deepEqual([isValid(`${runId} ${count}`, 0), isValid(`${runId} ${count + 1}`, 0)], [false, true])
  })

  it('believes no marker by a tick before a flush', async () => {
    const marker = `${lease.serverRunId()} ${count + 1}`
    let ticks = 0
    const onTick = () => {
      ticks += 1
    }
    // So long that no tick is dropped for its age.
    const timings = { ...FAST, lease_ms: 60_000, tick_ms: 10 }
    const ticking = createLease({ redis, timings, monotonic: () => SENT_AT_MS, onTick })
    await eventually(() => ticks >= 3)
    assert.equal(ticking.isMarkerValid(marker, SENT_AT_MS), true)
    // Other processes have counted from nothing.
    await asAdmin(server, (admin) => admin.set(redisKeys.revocationTick, count + 1))
    const before = ticks
    await eventually(() => ticks >= before + 2)
    assert.equal(ticking.isMarkerValid(marker, SENT_AT_MS), false)
  })

  it('believes no marker by a tick on another server, to which a proxy may lead a connection that stays', async () => {
    await using other = await createTestRedis()
    const later = 1_000_000_000
    await asAdmin(other, (admin) => admin.set(redisKeys.revocationTick, later))
    const elsewhere = await other.connect('auth')
    const timings = { ...FAST, lease_ms: 60_000, tick_ms: 10 }
    const led = createLease({ redis, timings, monotonic: () => SENT_AT_MS, onTick() {} })
    await eventually(led.isUsable)
    redis.eval = elsewhere.eval.bind(elsewhere) as typeof redis.eval
    await eventually(() => led.serverRunId() !== lease.serverRunId())
    const isBelieved = (after: number) =>
      led.isMarkerValid(`${led.serverRunId()} ${later + after}`, SENT_AT_MS)
    assert.deepEqual([isBelieved(0), isBelieved(1)], [false, true])
  })

  it('reports nothing of a connection that is yet to be ready', async () => {
    const connecting = createRedis({ url: server.url('auth'), connectionName: 'test' })
    const reported = new Promise<Error | undefined>((onTick) => {
      createLease({ redis: connecting, timings: { ...FAST, tick_ms: 1 }, monotonic: () => now_ms, onTick })
    })
    const failure = await reported.finally(() => connecting.disconnect())
    assert.equal(failure, undefined)
  })

  it('is unusable from a tick that fails until one succeeds', async () => {
    let failure: Error | undefined
    const onTick = (error?: Error) => {
      failure = error
    }
    const timings = { ...FAST, tick_ms: 10 }
    const ticking = createLease({ redis, timings, monotonic: () => now_ms, onTick })
    await eventually(ticking.isUsable)
    await asAdmin(server, (admin) => admin.set(redisKeys.revocationTick, 'no number'))
    await eventually(() => failure !== undefined)
    assert.equal(ticking.isUsable(), false)
    await asAdmin(server, (admin) => admin.del(redisKeys.revocationTick))
    await eventually(ticking.isUsable)
  })
})
