import assert from 'node:assert/strict'
import { createRateLimits } from '#shared/rate-limit.ts'
import { createRedis, type Redis, redisReady } from '#shared/redis.ts'
import { createTestRedis, type TestRedis } from '../support/servers.ts'

describe('rate limits that are counted together', () => {
  let server: TestRedis
  let admin: Redis
  let redis: Redis

  before(async () => {
    server = await createTestRedis()
    admin = createRedis({ url: server.url('admin'), connectionName: 'admin' })
    redis = createRedis({ url: server.url('auth'), connectionName: 'test' })
    await Promise.all([redisReady(admin), redisReady(redis)])
  })
  after(async () => {
    admin.disconnect()
    redis.disconnect()
    await server.stop('SIGKILL')
  })

  it('count what comes in one turn by one command, each by its own name, limit and window', async () => {
    const limit = createRateLimits(redis)
    const short = limit({ name: 'short', limit: 1, window_s: 10 })
    const long = limit({ name: 'long', limit: 2, window_s: 1_000 })
    await admin.config('RESETSTAT')
    const verdicts = await Promise.all([
      short.consume('one'),
      long.consume('one'),
      short.consume('other'),
      long.consume('one'),
      short.consume('one'),
    ])
    const seen = verdicts.map(({ policy, allowed, remaining, reset_s }) => [
      policy.name,
      allowed,
      remaining,
      reset_s,
    ])
    assert.deepEqual(seen, [
      ['short', true, 0, 10],
      ['long', true, 1, 1_000],
      ['short', true, 0, 10],
      ['long', true, 0, 1_000],
      ['short', false, 0, 10],
    ])
    assert.match(await admin.info('commandstats'), /^cmdstat_eval:calls=1,/m)
  })
})
