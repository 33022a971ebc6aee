import assert from 'node:assert/strict'
import { Redis } from 'ioredis'
import { createMetrics } from '#shared/process/metrics.ts'
import { rateLimits } from '#shared/stores/rate-limit.ts'
import { createRedis } from '#shared/stores/redis.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { addVerifier, asAdmin } from '../support/revocation.ts'
import { createTestRedis, type TestRedis } from '../support/servers.ts'

describe('the Redis users of the services', () => {
  let server: TestRedis
  let verifierUrl: string

  before(async () => {
    server = await createTestRedis()
    verifierUrl = await addVerifier(server)
  })
  after(() => server.stop('SIGKILL'))

  const may = async (user: string, command: string) => {
    const answer = await asAdmin(server, (redis) => redis.call('ACL', 'DRYRUN', user, ...command.split(' ')))
    return answer === 'OK'
  }

  const FORBIDDEN_TO_BOTH = [
    'flushall',
    'flushdb',
    'swapdb 0 1',
    'shutdown',
    'debug reload',
    'replicaof no one',
    'config set maxmemory-policy allkeys-lru',
    'config get maxmemory',
    'acl setuser auth +@all',
    'acl list',
    'client kill id 1',
    'client pause 1000',
    'client list',
    'script flush',
    'script load x',
    'function flush',
    'function load x',
    'save',
    'bgsave',
    'bgrewriteaof',
    'monitor',
    'keys *',
    'migrate host 1 key 0 1',
    'set other 1',
    'get other',
    ...[
      'revoked:client:c',
      'revoked:token:t',
      'revoked:key:k',
      'revocation:marker',
      'revocation:tick',
    ].flatMap((key) => [
      `del ${key}`,
      `unlink ${key}`,
      `expire ${key} 1`,
      `pexpire ${key} 1`,
      `expireat ${key} 1`,
      `pexpireat ${key} 1`,
      `persist ${key}`,
      `getdel ${key}`,
      `getex ${key} PX 1`,
      `getset ${key} 1`,
      `psetex ${key} 1 1`,
      `setex ${key} 1 1`,
      `rename ${key} rate:x`,
      `rename rate:x ${key}`,
      `renamenx ${key} rate:x`,
      `copy rate:x ${key} REPLACE`,
      `move ${key} 1`,
      `restore ${key} 1 x REPLACE`,
      `sort rate:x STORE ${key}`,
      `setrange ${key} 0 x`,
      `append ${key} x`,
      `decr ${key}`,
      `mset ${key} 1`,
    ]),
    'set revocation:tick 1',
  ]
  const allowedAmong = async (user: string, commands: string[]) => {
    const verdicts = await Promise.all(commands.map((command) => may(user, command)))
    return commands.filter((_, i) => verdicts[i])
  }

  it('forbids the services to flush, remove, rename, shorten, overwrite or change the server', async () => {
    assert.deepEqual(await allowedAmong('auth', FORBIDDEN_TO_BOTH), [])
    assert.deepEqual(await allowedAmong('api', FORBIDDEN_TO_BOTH), [])
    // Each is a real command: the administrator may.
    assert.deepEqual(await allowedAmong('admin', FORBIDDEN_TO_BOTH), FORBIDDEN_TO_BOTH)
  })

  const FORBIDDEN_TO_AUTH = [
    'set revocation:marker x',
    'set revocation:nonce:n x',
    'get revocation:nonce:n',
    'set revoked:client:c 1 PX 1',
    'set revoked:key:k 1 PX 1',
    'del usage:pending',
    'renamenx usage:pending usage:draining',
    'scan 0',
  ]
  it('allows only the resource API to mark a server, revoke clients and keys, and list entries', async () => {
    assert.deepEqual(await allowedAmong('auth', FORBIDDEN_TO_AUTH), [])
    assert.deepEqual(await allowedAmong('api', FORBIDDEN_TO_AUTH), FORBIDDEN_TO_AUTH)
  })

  const ALLOWED_TO_BOTH = [
    'info',
    'ping',
    'client setname x',
    'mget revocation:marker revoked:client:c revoked:token:t revoked:key:k',
    'incr revocation:tick',
    'set revoked:token:t 1 px 3600000',
    'eval x 0 revocation:marker',
    'eval x 1 rate:x',
    'set rate:x 1 px 1000 nx',
    'incrby rate:x 5',
    'pttl rate:x',
    'hincrby usage:pending f 1',
  ]
  it('allows what the services do', async () => {
    assert.deepEqual(await allowedAmong('auth', ALLOWED_TO_BOTH), ALLOWED_TO_BOTH)
    assert.deepEqual(await allowedAmong('api', ALLOWED_TO_BOTH), ALLOWED_TO_BOTH)
  })

  for (const user of ['auth', 'api'] as const) {
    it(`judges what a script of ${user} does as if it came alone`, async () => {
      const redis = createRedis({ url: server.url(user), connectionName: 'test' })
      await redisReady(redis)
      await asAdmin(server, (admin) => admin.set('revoked:client:c', '1'))
      try {
        for (const act of [
          "redis.call('del', 'revoked:client:c')",
          "redis.call('flushall')",
          "redis.call('pexpire', 'revoked:client:c', 1)",
          "redis.pcall('unlink', 'revoked:client:c')",
        ]) {
          await redis.eval(`return ${act}`, 0).catch(() => {})
          await redis.eval(`return ${act}`, 1, 'rate:x').catch(() => {})
        }
        assert.equal(await asAdmin(server, (admin) => admin.pttl('revoked:client:c')), -1)
      } finally {
        redis.disconnect()
      }
    })

    it(`lets ${user} count against a rate`, async () => {
      const redis = createRedis({ url: server.url(user), connectionName: 'test' })
      await redisReady(redis)
      try {
        const limits = rateLimits(redis, createMetrics({ service: 'test' }))
        const policy = [`test-${user}`, { limit: 1, window_s: 60 }] as const
        await limits(...policy).consume('subject')
        // Another limiter, so another memory: only Redis can know of the first.
        assert.equal((await limits(...policy).consume('subject')).allowed, false)
      } finally {
        redis.disconnect()
      }
    })
  }

  const FORBIDDEN_TO_VERIFIER = [
    'set rate:token-client:cli_x 999999',
    'incrby rate:token-client:cli_x 999999',
    'pttl rate:token-client:cli_x',
    'eval x 1 rate:token-client:cli_x',
    'lpush refusals:of:cli_x forged',
    'ltrim refusals:of:cli_x 1 0',
    'pexpire refusals:of:cli_x 1',
    'zadd refusals:clients:ven_x 1 cli_x',
    'lrange refusals:of:cli_x 0 1',
    'hincrby usage:pending f 1',
    'hset usage:pending f x',
    'hscan usage:pending 0',
    'set revoked:client:c 1 px 1',
    'set revoked:token:t 1 px 1',
    'set revoked:key:k 1 px 1',
    'set revocation:marker x',
    'set revocation:nonce:n x',
    'get revocation:seen',
    'scan 0',
    'time',
  ]
  const ALLOWED_TO_VERIFIER = [
    'info',
    'ping',
    'client setname x',
    'mget revocation:marker revoked:client:c revoked:token:t revoked:key:k',
    'get revocation:marker',
    'incr revocation:tick',
    'eval x 0 revocation:marker',
  ]
  it('allows a verifier of tokens to ask about revocations and nothing else', async () => {
    const forbidden = [...FORBIDDEN_TO_BOTH, ...FORBIDDEN_TO_VERIFIER]
    assert.deepEqual(await allowedAmong('verifier', forbidden), [])
    assert.deepEqual(await allowedAmong('admin', forbidden), forbidden)
    assert.deepEqual(await allowedAmong('verifier', ALLOWED_TO_VERIFIER), ALLOWED_TO_VERIFIER)
  })

  it('lets no script of a verifier lock a client out, forge a refusal or break a page', async () => {
    const redis = createRedis({ url: verifierUrl, connectionName: 'test' })
    await redisReady(redis)
    try {
      for (const act of [
        "redis.call('set', 'rate:token-client:cli_x', 999999)",
        "redis.call('incrby', 'rate:token-client:cli_x', 999999)",
        "redis.call('lpush', 'refusals:of:cli_x', 'not json')",
        "redis.call('hset', 'usage:pending', 'x', 'y')",
        "redis.call('set', 'revoked:client:cli_x', 1)",
      ])
        await assert.rejects(redis.eval(`return ${act}`, 0), /can't (run|access)|NOPERM|No permissions/i)
      assert.deepEqual(await asAdmin(server, (admin) => admin.keys('*cli_x*')), [])
      assert.equal(await asAdmin(server, (admin) => admin.exists('usage:pending')), 0)
      assert.equal(await redis.eval("return redis.call('incr', ARGV[1])", 0, 'revocation:tick'), 1)
    } finally {
      redis.disconnect()
    }
  })

  it('lets no one in without a password', async () => {
    const stranger = new Redis({ port: server.port, retryStrategy: null, enableReadyCheck: false })
    stranger.on('error', () => {})
    await assert.rejects(stranger.get('rate:x'), /NOAUTH/)
    stranger.disconnect()
    const wrong = new Redis({ port: server.port, username: 'api', password: 'wrong', retryStrategy: null })
    wrong.on('error', () => {})
    await assert.rejects(wrong.get('rate:x'))
    wrong.disconnect()
  })
})
