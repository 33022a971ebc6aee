import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from 'ioredis'
import { createMetrics } from '#shared/process/metrics.ts'
import { TICK } from '#shared/revocation/redis.ts'
import { addressSubject, rateLimitHeaders, rateLimits } from '#shared/stores/rate-limit.ts'
import { createRedis, createRedisOrCluster, type Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { connectRedis, watchRedis } from '#shared/stores/redis-watch.ts'
import { CONFIGURATION_FILE, redisServer } from '../../infra/local/redis.ts'
import { afterwards, forBlock, forEachTest } from '../support/block.ts'
import { stoppedTime } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { createTestLog, silentLog } from '../support/log.ts'
import { serviceRedis } from '../support/redis.ts'
import { asAdmin, through } from '../support/revocation.ts'
import { createTestRedis } from '../support/servers.ts'
import { createTcpProxy } from '../support/tcp-proxy.ts'

describe('a connection to Redis', () => {
  const server = forBlock(createTestRedis)
  let redis: Redis
  before(async () => {
    redis = createRedis({ url: server.url('admin'), connectionName: 'test' })
    await redisReady(redis)
  })
  after(() => redis.disconnect())

  it('rejects a Redis command before the connection is ready, and never sends it later', async () => {
    using early = serviceRedis(server.url('admin'))
    await assert.rejects(early.set('early', '1'))
    await redisReady(early)
    assert.equal(await early.get('early'), null)
  })

  for (const [what, url, reason] of [
    ['leads nowhere', () => 'redis://u:hunter2@127.0.0.1:1', /^connect ECONNREFUSED 127\.0\.0\.1:1$/],
    ['has a wrong password', () => server.url('admin').replace(':a@', ':hunter2@'), /^WRONGPASS /],
  ] as const)
    it(`says why Redis did not become ready, without the password: its URL ${what}`, async () => {
      using early = serviceRedis(url())
      const { message } = (await redisReady(early, 500).catch((error) => error)) as Error
      const [sentence, why = ''] = message.split(': ')
      assert.equal(sentence, 'Redis did not become ready')
      assert.match(why, reason)
      assert.doesNotMatch(message, /hunter2/)
    })

  it('does not wait long for a Redis that is away, nor refuse it', async () => {
    const connections = connectRedis({ REDIS_URL: 'redis://127.0.0.1:1' }, { name: 'test', log: silentLog() })
    const from_ms = performance.now()
    await connections.ready()
    assert.ok(performance.now() - from_ms < 3_000)
    connections.close()
  })

  it('logs nothing of a command that fails because this process closed the connection', async () => {
    const { log, lines } = createTestLog()
    const connections = connectRedis({ REDIS_URL: server.url('admin') }, { name: 'test', log })
    await redisReady(connections.redis)
    connections.close()
    const error = await connections.redis.ping().catch((failure) => failure)
    assert.ok(error instanceof Error)
    connections.reportTick(error)
    assert.deepEqual(lines, [])
  })

  it('is ready within a second after Redis has loaded its data, however long it thought that would take', async () => {
    await using slow = await createTestRedis()
    const fill = `for i = 1, 1500 do redis.call('set', 'key' .. i, 'x') end
      redis.call('select', 1)
      redis.call('set', 'long', string.rep('x', 1e7))`
    await asAdmin(slow, (redis) => redis.eval(fill, 0))
    await slow.stop('SIGTERM')
    const { command, env } = await redisServer()
    // A millisecond for each key. By its bytes, hardly anything is loaded until the last one.
    const options = ['--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024']
    const loading = spawn(command, [join(slow.directory, CONFIGURATION_FILE), ...options], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    await using _ = afterwards(async () => {
      loading.kill('SIGKILL')
      await once(loading, 'exit')
    })
    using early = serviceRedis(slow.url('admin'))
    for await (const line of createInterface(loading.stdout)) if (line.includes('DB loaded from disk')) break
    assert.equal(early.status, 'connect')
    await redisReady(early, 1_000)
  })

  it('connects again twice a second at least, however long Redis has been away', () => {
    assert.equal(redis.options.retryStrategy?.(1), 50)
    assert.equal(redis.options.retryStrategy?.(10_000), 500)
  })

  it('waits no longer for a server of a cluster than for one alone: 2 s to connect, 2 s for an answer', () => {
    const cluster = createRedisOrCluster({ url: 'redis+cluster://127.0.0.1:1', connectionName: 'test' })
    cluster.disconnect()
    for (const { connectTimeout, socketTimeout, commandTimeout } of [
      redis.options,
      (cluster as Cluster).options.redisOptions ?? {},
    ])
      assert.deepEqual([connectTimeout, socketTimeout, commandTimeout], [2_000, 2_000, 250])
  })

  it('says why Redis cannot be used once a minute, and at once when that begins again', () => {
    const { log, lines } = createTestLog()
    const { report } = watchRedis({ redis, log, name: 'redis' })
    const away = new Error('away')
    using time = stoppedTime()
    for (const wait_ms of [59_999, 1, 0]) {
      report(away)
      time.advance(wait_ms)
    }
    for (const outcome of [undefined, away]) report(outcome)
    const usable = lines.map(({ event }) => event === 'redis.usable')
    assert.deepEqual(usable, [false, false, true, false])
  })

  it('keeps 200 characters of the reason why Redis cannot be used', async () => {
    const watch = watchRedis({ redis, log: silentLog(), name: 'redis' })
    await redis.eval(`return redis.error_reply(string.rep('x', 300))`, 0).catch(watch.report)
    assert.equal(watch.trouble()?.length, 200)
  })
})

describe('a connection to a former primary that became a replica and closed nothing', () => {
  const [former, primary] = [forBlock(createTestRedis), forBlock(createTestRedis)]
  const network = forEachTest(() => createTcpProxy(former.port))
  const connection = forEachTest(async () => {
    const redis = serviceRedis(through(former.url('admin'), network))
    await redisReady(redis)
    return Object.assign(redis, { [Symbol.asyncDispose]: async () => redis.disconnect() })
  })
  afterEach(() =>
    asAdmin(former, async (redis) => {
      await redis.config('SET', 'replica-read-only', 'yes', 'replica-serve-stale-data', 'yes')
      await redis.replicaof('NO', 'ONE')
    }),
  )

  const runId = async (redis: Redis) => /run_id:(\w+)/.exec(await redis.info('server'))?.[1]
  const demote = (settings: string[], port: number) =>
    asAdmin(former, async (redis) => {
      if (settings.length > 0) await redis.config('SET', ...(settings as [string, string]))
      await redis.replicaof('127.0.0.1', port)
    })

  for (const [how, settings, port] of [
    ['refuses writes', [], () => primary.port],
    ['accepts writes', ['replica-read-only', 'no'], () => primary.port],
    ['has lost its primary and serves no stale data', ['replica-serve-stale-data', 'no'], () => 1],
  ] as const)
    it(`leads to the primary soon after its name has moved there, from one that ${how}`, async () => {
      await demote([...settings], port())
      network.move(primary.port)
      const primaryId = await asAdmin(primary, runId)
      // What a service sends all the time.
      const leadsToPrimary = async () => {
        await connection.eval(TICK, 0, redisKeys.revocationTick, redisKeys.revocationMarker).catch(() => {})
        return (await runId(connection).catch(() => '')) === primaryId
      }
      await eventually(leadsToPrimary, { limit_ms: 10_000 })
    })

  it('connects no more than once a second while its name has not moved', async () => {
    await demote([], primary.port)
    let connections = 0
    connection.on('connect', () => connections++)
    const from_ms = performance.now()
    for (; performance.now() < from_ms + 3_000; await sleep(10))
      await connection.set('key', 'value').catch(() => {})
    const max = Math.ceil((performance.now() - from_ms) / 1_000)
    assert.ok(connections >= 1 && connections <= max, `${connections} connections`)
  })

  it('sends nothing again', async () => {
    await asAdmin(former, (redis) => redis.set('sent', '0'))
    // A younger connection is kept.
    await sleep(1_000)
    await demote([], primary.port)
    network.move(primary.port)
    await assert.rejects(connection.incr('sent'), /^ReplyError: READONLY /)
    await eventually(() => connection.status !== 'ready')
    await redisReady(connection)
    assert.equal(await connection.get('sent'), null)
  })
})

describe('the network that an address is counted by', () => {
  for (const [address, bits, network] of [
    ['192.0.2.7', 48, '192.0.2.7'],
    ['2001:db8:1:f2f3:a:b:c:d', 64, '2001:db8:1:f2f3::/64'],
    ['2001:db8:1:f2f3:a:b:c:d', 56, '2001:db8:1:f200::/56'],
    ['2001:db8:1:f2f3:a:b:c:d', 48, '2001:db8:1::/48'],
    ['2001:db8::1', 64, '2001:db8::/64'],
    ['1:2:3::5:6:7:8', 64, '1:2:3::/64'],
    ['::1', 64, '::/64'],
  ] as const)
    it(`counts ${address} by ${network}, of ${bits} bits`, () =>
      assert.equal(addressSubject(address, bits), network))
})

describe('a rate limit', () => {
  const server = forBlock(createTestRedis)

  for (const store of ['with Redis', 'without Redis'])
    describe(store, () => {
      let redis: Redis
      before(async () => {
        redis = createRedis({ url: server.url('auth'), connectionName: 'test' })
        if (store === 'with Redis') await redisReady(redis)
        else redis.disconnect()
      })
      after(() => redis.disconnect())

      const createLimit = (name: string, window_s: number) =>
        rateLimits(redis, createMetrics({ service: 'auth' }))(name, { limit: 5, window_s })

      it('counts each subject by its own weight for as long as the policy says, also within one turn', async () => {
        const metrics = createMetrics({ service: 'auth' })
        const { consume } = rateLimits(redis, metrics)('weights', { limit: 5, window_s: 60.4 })
        const weights = [consume('light'), consume('heavy', 3), consume('light'), consume('over', -1)]
        const verdicts = await Promise.all(weights)
        const told = verdicts.map(({ remaining, reset_s }) => `${remaining} in ${reset_s} s`)
        assert.deepEqual(told, ['4 in 61 s', '2 in 61 s', '3 in 61 s', '5 in 61 s'])
        for (const weight of [1, 0, 1, 0, 3, -1]) await consume('heavy', weight)
        assert.match(await metrics.registry.metrics(), /_rate_limit_hits_total\{.*\} 2$/m)
      })

      it('opens another window when one is over', async () => {
        const limit = createLimit('window', 0.5)
        const allowed = async () => (await limit.consume('x', 5)).allowed
        for (const expected of [true, false, true, false])
          await eventually(async () => (await allowed()) === expected)
      })

      it('opens another window when one would last longer than a window, as after a clock was set back', async () => {
        await createLimit('back', 3_600).consume('x', 5)
        const { allowed, reset_s } = await createLimit('back', 60).consume('x', 5)
        assert.deepEqual([allowed, reset_s], [true, 60])
      })
    })

  it('sends RateLimit fields with every verdict, and Retry-After only when refused', () => {
    const policy = { name: 'some', limit: 5, window_s: 60 }
    const fields = { 'RateLimit-Policy': '"some";q=5;w=60', RateLimit: '"some";r=0;t=7' }
    const verdict = { policy, remaining: 0, reset_s: 7 }
    assert.deepEqual(rateLimitHeaders({ ...verdict, allowed: true }), fields)
    assert.deepEqual(rateLimitHeaders({ ...verdict, allowed: false }), { ...fields, 'Retry-After': '7' })
  })

  it('asks for a wait of at least a second, however soon the window ends', async () => {
    const redis = createRedis({ url: server.url('auth'), connectionName: 'test' })
    redis.disconnect()
    const limit = rateLimits(redis, createMetrics({ service: 'auth' }))('ending', { limit: 1, window_s: 0 })
    assert.equal((await limit.consume('x')).reset_s, 1)
  })
})
