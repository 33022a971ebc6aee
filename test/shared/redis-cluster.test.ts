import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '#shared/process/config.ts'
import { createMetrics } from '#shared/process/metrics.ts'
import { type RateLimit, rateLimits } from '#shared/stores/rate-limit.ts'
import { createRedisOrCluster } from '#shared/stores/redis.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { connectRedis } from '#shared/stores/redis-watch.ts'
import {
  deleteRequests,
  latestRefusals,
  listRefusalPositions,
  readRefusals,
} from '../../apps/api/usage/refusals.ts'
import { readRequestLog } from '../../apps/api/usage/request-log.ts'
import { startAuth } from '../support/auth.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { createRedisTls } from '../support/certificates.ts'
import { createTestUsage } from '../support/client-usage.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'
import { createTestLog, silentLog } from '../support/log.ts'
import { freePort } from '../support/ports.ts'
import { assertStatuses } from '../support/problem.ts'
import { createTestRedis } from '../support/servers.ts'
import { createRedisCluster, startClusterServer } from './cluster-servers.ts'

describe('a Redis Cluster for rates and requests', () => {
  const folder = sharedFolder()
  const cluster = forBlock(() => createRedisCluster(folder))
  const connections: ReturnType<typeof createRedisOrCluster>[] = []
  after(() => {
    for (const redis of connections) redis.disconnect()
  })

  async function connect(user: 'auth' | 'api' | 'admin') {
    const redis = createRedisOrCluster({ url: cluster.url(user), connectionName: 'test' })
    connections.push(redis)
    await redisReady(redis)
    // The connections to its servers open right after.
    await eventually(() =>
      Promise.all([0, 1, 2, 3, 4, 5].map((n) => redis.set(`rate:{${n}}`, '', 'PX', 1))).catch(() => false),
    )
    return redis
  }
  const createLimit = async (name: string) =>
    rateLimits(await connect('auth'), createMetrics({ service: 'auth' }))(name, {
      limit: 1_000,
      window_s: 600,
    })
  const primaries = () => [cluster.first, cluster.second, cluster.third]
  const subjects = Array.from({ length: 50 }, (_, n) => `subject-${n}`)
  const consumeAll = async ({ consume }: RateLimit) =>
    (await Promise.all(subjects.map((subject) => consume(subject)))).map(({ remaining }) => remaining)

  it('counts for all processes, each subject on the server of its slot', async () => {
    const limits = [await createLimit('shared'), await createLimit('shared')] as const
    for (const [n, limit] of [...limits, ...limits].entries())
      assert.deepEqual(new Set(await consumeAll(limit)), new Set([999 - n]))
    for (const { admin } of primaries()) assert.ok((await admin.keys('rate:shared:*')).length > 5)
  })

  it('keeps, reads and deletes requests with the rights of the services', async () => {
    const [auth, api] = [await connect('auth'), await connect('api')]
    const now_ms = 1_790_000_000_000
    const usage = createTestUsage(auth as never, { raw: async () => {} } as never, { now: () => now_ms })
    const named = (n: number) => ({ clientId: `client-${n}`, vendorId: `vendor-${n % 10}` })
    const clients = Array.from({ length: 30 }, (_, n) => named(n))
    for (const [n, client] of clients.entries())
      for (const proven of [true, false])
        usage.recordRequest({
          ...client,
          proven,
          requestId: `${n}-${proven}`,
          route: 'POST /v1/oauth/token',
          status: 401,
          address: '192.0.2.1',
          code: 'invalid_client',
          reason: 'wrong_secret',
        })
    await usage.flush()
    for (const [n, { vendorId, clientId }] of clients.entries()) {
      const range = { vendorId, after: undefined, limit: 50, now_ms }
      assert.equal((await listRefusalPositions(api, { ...range, clientId: undefined })).length, 6)
      assert.equal((await listRefusalPositions(api, { ...range, clientId })).length, 2)
      const requestIds = [`${n}-true`, `${n}-false`]
      assert.equal((await readRefusals(api, { vendorId, requestIds, now_ms })).length, 2)
      const log = await readRequestLog(api, { vendorId, clientId, createdAt_ms: now_ms, now_ms })
      assert.deepEqual([log.requests.length, log.since_ms], [2, now_ms - redisLifetimes.requests_ms])
      const latest = await latestRefusals(api, vendorId, [{ clientId, after_ms: 0 }], now_ms)
      assert.deepEqual(Object.keys(latest.get(clientId) ?? {}), ['proven', 'unproven'])
    }
    const erased = { vendorId: 'vendor-0', clientIds: ['client-0', 'client-10', 'client-20'] }
    await deleteRequests(await connect('admin'), erased)
    for (const { admin } of primaries()) assert.deepEqual(await admin.keys('re*{vendor-0}*'), [])
  })

  it('follows a slot that moves to another server, and counts on', async () => {
    const limit = await createLimit('moved')
    const remaining = async () => (await limit.consume('b')).remaining
    const key = redisKeys.rateLimit('moved', 'b')
    const slot = (await cluster.first.admin.cluster('KEYSLOT', key)) as number
    assert.ok(slot < 5_000, 'the slot of b is on the first server')
    assert.equal(await remaining(), 999)
    await cluster.moveSlot(slot, async () => assert.equal(await remaining(), 998))
    assert.equal(await remaining(), 997)
    assert.equal(await cluster.second.admin.get(key), '3')
  })

  it('counts alone while a server does not answer, and together again once its replica is promoted', async () => {
    const limit = await createLimit('promoted')
    await consumeAll(limit)
    let slowest_ms = 0
    await using _ = afterwards(() => cluster.first.signal('SIGCONT'))
    cluster.first.signal('SIGSTOP')
    const counted = async () => {
      const from_ms = performance.now()
      await consumeAll(limit)
      slowest_ms = Math.max(slowest_ms, performance.now() - from_ms)
      return (await cluster.replica.admin.keys('rate:promoted:*')).length > 5
    }
    const isPromoted = async () => (await cluster.replica.admin.info('replication')).includes('role:master')
    await eventually(async () => (await isPromoted()) && (await limit.consume('promoted')) && counted())
    const before = await Promise.all(subjects.map(total))
    await eventually(async () => {
      await consumeAll(limit)
      const after = await Promise.all(subjects.map(total))
      return after.every((sum, n) => sum > (before[n] ?? 0))
    })
    assert.ok(slowest_ms < 2_000, `${slowest_ms} ms`)
    async function total(subject: string): Promise<number> {
      const key = redisKeys.rateLimit('promoted', subject)
      const servers = [cluster.second, cluster.third, cluster.replica]
      const texts = await Promise.all(servers.map(({ admin }) => admin.get(key).catch(() => null)))
      return Math.max(...texts.map(Number))
    }
  })

  it('does without the cluster: tokens and revocations go on, rates count alone', async () => {
    await using auth = await startAuth({
      env: { RATE_REDIS_URL: cluster.url('auth'), RATE_TOKEN_PER_CLIENT: '5/600' },
      trusted: true,
    })
    const client = await auth.createClient()
    assertStatuses([await auth.token(client)], 200)
    for (const server of [cluster.second, cluster.third, cluster.replica]) server.signal('SIGKILL')
    const readDegraded = async () => (await auth.request('GET', '/readyz')).json.degraded
    await eventually(async () => (await readDegraded())?.join() === 'redis')
    assertStatuses([await auth.token(client)], 200)
    await auth.revoke(client)
    assertStatuses([await auth.token(client)], 401)
    const busy = await auth.createClient()
    const answers = []
    for (const _ of Array(6)) answers.push(await auth.token(busy))
    assertStatuses(answers, 200, 200, 200, 200, 200, 429)
  })
})

describe('a Redis Cluster that cannot be used', () => {
  const folder = sharedFolder()
  const standalone = forBlock(createTestRedis)
  const announced = (...lines: string[]) =>
    forBlock(() => startClusterServer(folder, ['cluster-announce-ip 127.0.0.1', ...lines]))
  const unreachable = announced('cluster-announce-port 1')
  before(() => unreachable.admin.cluster('ADDSLOTSRANGE', 0, 16_383))
  const empty = announced()

  for (const [what, authority, reason] of [
    ['is none', () => `auth:b@127.0.0.1:${standalone.port}`, /^ERR .*cluster support disabled/],
    ['has another password', () => `auth:hunter2@127.0.0.1:${empty.port}`, /^WRONGPASS/],
    [
      'has no slots yet',
      () => `auth:auth@127.0.0.1:${empty.port}`,
      /^(?:Cluster isn't ready|Failed to refresh slots)/,
    ],
    ['announces another port', () => `auth:auth@127.0.0.1:${unreachable.port}`, /ECONNREFUSED.*:1$/],
    ['is not there', () => 'auth:auth@127.0.0.1:1,127.0.0.1:2', /ECONNREFUSED.*:[12]$/],
  ] as const)
    it(`says once why, for each server and without the password: it ${what}`, async () => {
      const { log, lines } = createTestLog()
      const urls = { REDIS_URL: standalone.url('auth'), RATE_REDIS_URL: `redis+cluster://${authority()}` }
      const connections = connectRedis(urls, { name: 'test', log })
      await using _ = afterwards(() => connections.close())
      await connections.ready()
      const expected = authority()
        .split(',')
        .map(() => 'redis.unusable rate')
      // A busy machine has probes that time out, too.
      const ofReason = () => lines.filter((line) => reason.test(String(line.reason)))
      await eventually(() => connections.degraded().length > 0 && ofReason().length >= expected.length, {
        otherwise: () => JSON.stringify(lines),
      })
      // Longer than the time between two probes.
      await sleep(2_500)
      assert.deepEqual(
        ofReason().map(({ event, redis }) => `${event} ${redis}`),
        expected,
      )
      assert.doesNotMatch(JSON.stringify(lines), /hunter2/)
    })

  it('says that it has no slots although it did not answer at first', async () => {
    await using _server = afterwards(() => empty.signal('SIGCONT'))
    empty.signal('SIGSTOP')
    const { log, lines } = createTestLog()
    const urls = {
      REDIS_URL: standalone.url('auth'),
      RATE_REDIS_URL: `redis+cluster://auth:auth@127.0.0.1:${empty.port}`,
    }
    const connections = connectRedis(urls, { name: 'test', log })
    await using _ = afterwards(() => connections.close())
    const says = (reason: RegExp) =>
      eventually(() => lines.some((line) => reason.test(String(line.reason))), {
        otherwise: () => JSON.stringify(lines),
      })
    await says(/^Command timed out/)
    empty.signal('SIGCONT')
    await says(/^(?:Cluster isn't ready|Failed to refresh slots)/)
  })

  it('is used without a restart once it has its slots', async () => {
    const { log, lines } = createTestLog()
    const RATE_REDIS_URL = `redis+cluster://auth:auth@127.0.0.1:${empty.port}`
    const urls = { REDIS_URL: standalone.url('auth'), RATE_REDIS_URL }
    const connections = connectRedis(urls, { name: 'test', log })
    await using _ = afterwards(() => connections.close())
    await eventually(() => connections.degraded().length > 0)
    await empty.admin.cluster('ADDSLOTSRANGE', 0, 16_383)
    await eventually(() => connections.degraded().length === 0)
    assert.equal(lines.at(-1)?.event, 'redis.usable')
  })

  for (const variable of ['REDIS_URL', 'REVOCATION_REDIS_URL', 'RATE_REDIS_URL'])
    it(`is refused as the server of ${variable}`, async () => {
      const url = `redis://auth:auth@127.0.0.1:${empty.port}`
      const urls = { REDIS_URL: standalone.url('auth'), [variable]: url }
      const connections = connectRedis(urls, { name: 'test', log: silentLog() })
      await using _ = afterwards(() => connections.close())
      await Promise.all(connections.watches.map(({ redis }) => redisReady(redis)))
      const problem = 'Only RATE_REDIS_URL may be a Redis Cluster, as redis+cluster://…'
      await assert.rejects(connections.ready(), new ConfigError(problem))
    })
})

describe('a Redis Cluster over TLS', () => {
  const folder = sharedFolder()
  const tls = forBlock(() => createRedisTls(folder))

  it('is reached by the names of its servers, as their certificates have them', async () => {
    const tlsPort = await freePort()
    await using server = await startClusterServer(folder, [
      `tls-port ${tlsPort}`,
      ...tls.lines,
      'tls-cluster yes',
      'cluster-announce-hostname localhost',
      'cluster-preferred-endpoint-type hostname',
    ])
    await server.admin.cluster('ADDSLOTSRANGE', 0, 16_383)
    await eventually(async () => String(await server.admin.cluster('INFO')).includes('cluster_state:ok'))
    const url = `rediss+cluster://auth:auth@localhost:${tlsPort}`
    const redis = createRedisOrCluster({ url, connectionName: 'test' })
    await using _ = afterwards(() => redis.disconnect())
    await redisReady(redis)
    await eventually(() => redis.set('rate:{x}', '', 'PX', 1_000).catch(() => false))
  })
})
