import assert from 'node:assert/strict'
import { Redis } from 'ioredis'
import { forBlock } from '../support/block.ts'
import { asAdmin } from '../support/revocation.ts'
import { createTestRedis } from '../support/servers.ts'

describe('the Redis users of the services', () => {
  const server = forBlock(createTestRedis)

  const ENTRIES = ['revoked:client:c', 'revoked:token:t', 'revoked:key:k']
  const HARMFUL = [
    ...['flushall', 'flushdb', 'swapdb 0 1', 'shutdown', 'debug reload', 'replicaof no one'],
    ...['save', 'monitor'],
    ...['config set maxmemory-policy allkeys-lru', 'config get maxmemory', 'acl setuser auth +@all'],
    ...['client kill id 1', 'script flush', 'function flush', 'keys *', 'migrate host 1 key 0 1'],
    ...['set other 1', 'get other', 'set revocation:tick 1'],
    ...[...ENTRIES, 'revocation:marker', 'revocation:tick', 'revocation:page:k'].flatMap((key) => [
      `del ${key}`,
      `unlink ${key}`,
      `expire ${key} 1`,
      `pexpire ${key} 1`,
      `persist ${key}`,
      `getdel ${key}`,
      `getset ${key} 1`,
      `setex ${key} 1 1`,
      `rename ${key} rate:x`,
      `rename rate:x ${key}`,
      `copy rate:x ${key} REPLACE`,
      `restore ${key} 1 x REPLACE`,
      `append ${key} x`,
      `mset ${key} 1`,
    ]),
  ]
  const allowedAmong = (user: string, commands: string[]) =>
    asAdmin(server, async (redis) => {
      const tries = commands.map((command) => redis.call('ACL', 'DRYRUN', user, ...command.split(' ')))
      const answers = await Promise.all(tries)
      return commands.filter((_, i) => answers[i] === 'OK')
    })

  const OF_API = [
    ...['set revocation:marker x', 'set revocation:nonce:n x', 'get revocation:nonce:n'],
    ...['set revoked:client:c 1 PX 1', 'set revoked:key:k 1 PX 1', 'scan 0'],
  ]
  const ALLOWED_TO_BOTH = [
    ...['info', 'ping', 'client setname x', 'asking', 'cluster slots'],
    ...[`mget revocation:marker ${ENTRIES.join(' ')}`, 'incr revocation:tick', 'eval x 0 revocation:marker'],
    ...['set revoked:token:t 1 px 3600000', 'eval x 1 rate:x', 'set rate:x 1 px 1000 nx', 'incrby rate:x 5'],
    'pttl rate:x',
  ]
  const REMEMBER = ['set assertion:x y px 1000 nx']
  const SHARE = ['get revocation:page:k', 'set revocation:page:k x px 1000']
  it('forbids the services to flush, remove, rename or expire a revocation, or to change the server', async () => {
    for (const user of ['auth', 'api']) assert.deepEqual(await allowedAmong(user, HARMFUL), [])
    assert.deepEqual(await allowedAmong('admin', HARMFUL), HARMFUL)
  })

  for (const [title, commands, auth, api] of [
    ['allows the API alone to mark a server, revoke clients and keys, and list entries', OF_API, [], OF_API],
    ['allows the authorization server alone to remember an assertion', REMEMBER, REMEMBER, []],
    ['allows no service to read an assertion', ['get assertion:x', 'del assertion:x'], [], []],
    ['allows the authorization server alone to share a page of revocations', SHARE, SHARE, []],
    ['allows what the services do', ALLOWED_TO_BOTH, ALLOWED_TO_BOTH, ALLOWED_TO_BOTH],
  ] as [title: string, commands: string[], auth: string[], api: string[]][])
    it(title, async () => {
      assert.deepEqual(await allowedAmong('auth', commands), auth)
      assert.deepEqual(await allowedAmong('api', commands), api)
      // Each is a real command: the administrator may.
      assert.deepEqual(await allowedAmong('admin', commands), commands)
    })

  it('cannot keep a user that may set an entry from shortening its lifetime', async () => {
    const shorten = ENTRIES.map((key) => `set ${key} 1 px 1`)
    assert.deepEqual(await allowedAmong('auth', shorten), ['set revoked:token:t 1 px 1'])
    assert.deepEqual(await allowedAmong('api', shorten), shorten)
  })

  for (const user of ['auth', 'api'] as const)
    it(`judges what a script of ${user} does as if it came alone`, async () => {
      const redis = await server.connect(user)
      await asAdmin(server, (admin) => admin.set('revoked:client:c', '1'))
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
    })

  it('lets no one in without a password', async () => {
    for (const [options, refusal] of [
      [{ enableReadyCheck: false }, /NOAUTH/],
      [{ username: 'api', password: 'wrong' }, /./],
    ] as const) {
      const stranger = new Redis({ port: server.port, retryStrategy: null, ...options })
      stranger.on('error', () => {})
      await assert.rejects(stranger.get('rate:x'), refusal)
      stranger.disconnect()
    }
  })
})
