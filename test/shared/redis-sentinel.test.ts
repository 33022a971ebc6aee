import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { listen } from '#shared/process/http-server.ts'
import { TICK } from '#shared/revocation/redis.ts'
import { createRedis, type Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { SENTINEL_USER_RULES } from '../../infra/database/redis-users.ts'
import { redisServer } from '../../infra/local/redis.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { createRedisTls } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'
import { freePort } from '../support/ports.ts'
import { serviceRedis } from '../support/redis.ts'
import { addUser, asAdmin, replicate } from '../support/revocation.ts'
import { createTestRedis, type TestRedis } from '../support/servers.ts'

const GROUP = 'main'
const runId = (redis: Redis) => redis.info('server').then((info) => /run_id:(\w+)/.exec(info)?.[1])
const leadsTo = async (redis: Redis, server: TestRedis) =>
  (await runId(redis).catch(() => undefined)) === (await asAdmin(server, runId))
/** The URL of a server by its Sentinels' hosts. */
const urlAt = (server: TestRedis, hosts: string, scheme = 'redis') =>
  `${scheme}+sentinel://api:${new URL(server.url('api')).password}@${hosts}/${GROUP}`

async function startSentinel(directory: string, name: string, lines: string[]): Promise<ChildProcess> {
  const file = join(directory, `${name}.conf`)
  await writeFile(file, ['bind 127.0.0.1', `dir ${directory}`, ...lines].join('\n'))
  const { command, env } = await redisServer()
  return spawn(command, [file, '--sentinel'], { env: { ...process.env, ...env }, stdio: 'ignore' })
}

async function end(sentinel: ChildProcess): Promise<void> {
  sentinel.kill('SIGKILL')
  await once(sentinel, 'exit')
}

/** How Sentinel logs in to the servers that it watches. */
const WATCHING = [`sentinel auth-user ${GROUP} sentinel`, `sentinel auth-pass ${GROUP} sentinel`]

describe('a Redis that is named by Sentinel', () => {
  const directory = sharedFolder()
  const servers = [forBlock(createTestRedis), forBlock(createTestRedis)] as const

  before(async () => {
    for (const server of servers)
      for (const [name, rules] of Object.entries(SENTINEL_USER_RULES)) await addUser(server, name, rules)
  })

  describe('over TLS, where Sentinel has users of its own', () => {
    let sentinel: ChildProcess
    let host: string
    const tls = forBlock(() => createRedisTls(directory))

    before(async () => {
      const [port, redisPort] = await Promise.all([freePort(), freePort()])
      await asAdmin(servers[0], (redis) =>
        redis.config('SET', 'tls-port', redisPort, ...tls.lines.flatMap((line) => line.split(' '))),
      )
      sentinel = await startSentinel(directory, 'tls', [
        'port 0',
        `tls-port ${port}`,
        'tls-replication yes',
        ...tls.lines,
        'sentinel resolve-hostnames yes',
        'sentinel announce-hostnames yes',
        'user default off',
        'user services on >s%e+cret ~* &* +@all',
        `sentinel monitor ${GROUP} localhost ${redisPort} 1`,
        ...WATCHING,
      ])
      host = `localhost:${port}`
    })
    after(() => end(sentinel))

    const ready = async (url: string, within_ms: number) => {
      using redis = serviceRedis(url)
      await redisReady(redis, within_ms)
      assert.ok(await leadsTo(redis, servers[0]))
    }

    it('reaches Redis through Sentinel over TLS with both sets of credentials', async () => {
      const credentials = 'sentinel_user=services&sentinel_password=s%25e%2Bcret'
      await ready(`${urlAt(servers[0], host, 'rediss')}?${credentials}`, 60_000)
    })

    for (const [title, scheme, credentials] of [
      ['with a wrong password for Sentinel', 'rediss', 'sentinel_user=services&sentinel_password=wrong'],
      ['with none', 'rediss', ''],
      ['without TLS', 'redis', 'sentinel_user=services&sentinel_password=s%25e%2Bcret'],
    ])
      it(`does not reach Redis through Sentinel ${title}`, () =>
        assert.rejects(ready(`${urlAt(servers[0], host, scheme)}?${credentials}`, 500), /ready/))
  })

  describe('when its primary is gone', () => {
    let sentinel: ChildProcess
    const silent = createServer((socket) => socket.resume().on('error', () => {}))
    let watcher: Redis
    let url: string
    /** Before, Sentinel would promote none. */
    const knowsReplica = async () => {
      const replicas = (await watcher.call('SENTINEL', 'REPLICAS', GROUP)) as string[][]
      return replicas.some((fields) => fields.join(' ').includes('master-link-status ok'))
    }

    before(async () => {
      await replicate(servers[0], servers[1], { username: 'replication', password: 'replication' })
      const port = await freePort()
      sentinel = await startSentinel(directory, 'plain', [
        `port ${port}`,
        `sentinel monitor ${GROUP} 127.0.0.1 ${servers[0].port} 1`,
        ...WATCHING,
        `sentinel down-after-milliseconds ${GROUP} 500`,
      ])
      watcher = createRedis({ url: `redis://127.0.0.1:${port}`, connectionName: 'test' })
      await redisReady(watcher)
      // The first address has nobody, and who is at the second says nothing.
      const silentPort = await listen(silent as never, { host: '127.0.0.1', port: 0 })
      url = urlAt(servers[0], `127.0.0.1:1,127.0.0.1:${silentPort},127.0.0.1:${port}`)
    })
    after(async () => {
      watcher.disconnect()
      silent.close()
      await end(sentinel)
    })

    it('reaches the primary, as the user of the URL, and the replica once it has taken over', async () => {
      using redis = serviceRedis(url)
      await redisReady(redis, 60_000)
      assert.ok(await leadsTo(redis, servers[0]))
      await assert.rejects(redis.flushall(), /NOPERM/)
      await eventually(knowsReplica)
      await servers[0].stop('SIGKILL')
      await eventually(() => leadsTo(redis, servers[1]))
    })
  })

  it('reaches the new primary when the former one becomes a replica and closes no connection', async () => {
    await using former = await createTestRedis()
    await using primary = await createTestRedis()
    const port = await freePort()
    const sentinel = await startSentinel(directory, 'planned', [
      `port ${port}`,
      `sentinel monitor ${GROUP} 127.0.0.1 ${former.port} 1`,
    ])
    await using _ = afterwards(() => end(sentinel))
    using redis = serviceRedis(urlAt(former, `127.0.0.1:${port}`))
    await redisReady(redis)
    await replicate(primary, former)
    using watcher = serviceRedis(`redis://127.0.0.1:${port}`)
    await redisReady(watcher)
    await watcher.call('SENTINEL', 'REMOVE', GROUP)
    await watcher.call('SENTINEL', 'MONITOR', GROUP, '127.0.0.1', primary.port, 1)
    assert.ok(await leadsTo(redis, former))
    const isMoved = async () => {
      await redis.eval(TICK, 0, redisKeys.revocationTick, redisKeys.revocationMarker).catch(() => {})
      return leadsTo(redis, primary)
    }
    await eventually(isMoved, { limit_ms: 10_000 })
  })

  it('takes the default user, an encoded password and an IPv6 address from its URL', () => {
    const redis = createRedis({ url: 'redis+sentinel://:a%25b@[::1]:1,host/main', connectionName: 'test' })
    redis.disconnect()
    const { username, password, sentinels, name } = redis.options
    assert.deepEqual([username, password, name], ['default', 'a%b', GROUP])
    const hosts = sentinels?.map(({ host, port }) => `${host} ${port}`)
    assert.deepEqual(hosts, ['::1 1', 'host 26379'])
  })
})
