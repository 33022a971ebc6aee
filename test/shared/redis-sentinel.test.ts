import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRedis, type Redis } from '#shared/stores/redis.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { freePort } from '../../infra/local/ports.ts'
import { redisServer } from '../../infra/local/redis-binary.ts'
import { asAdmin, replicate } from '../support/revocation.ts'
import { createTestRedis, type TestRedis } from '../support/servers.ts'

const GROUP = 'main'

describe('a Redis that is named by Sentinel', () => {
  let directory: string
  let servers: [TestRedis, TestRedis]
  let sentinel: ChildProcess
  let url: string

  before(async function () {
    this.timeout(30_000)
    directory = await mkdtemp(join(tmpdir(), 'sentinel-'))
    servers = await Promise.all([createTestRedis(), createTestRedis()])
    await replicate(servers[0], servers[1])
    const port = await freePort()
    const { password } = new URL(servers[0].url('admin'))
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${directory}`,
      `sentinel monitor ${GROUP} 127.0.0.1 ${servers[0].port} 1`,
      `sentinel auth-user ${GROUP} admin`,
      `sentinel auth-pass ${GROUP} ${password}`,
      `sentinel down-after-milliseconds ${GROUP} 500`,
    ]
    const file = join(directory, 'sentinel.conf')
    await writeFile(file, lines.join('\n'))
    const { command, env } = await redisServer()
    sentinel = spawn(command, [file, '--sentinel'], { env: { ...process.env, ...env }, stdio: 'ignore' })
    const { password: api } = new URL(servers[0].url('api'))
    // The first address has nobody.
    url = `redis+sentinel://api:${api}@127.0.0.1:1,127.0.0.1:${port}/${GROUP}`
  })
  after(async () => {
    sentinel.kill('SIGKILL')
    await once(sentinel, 'exit')
    await Promise.all(servers.map((server) => server.stop('SIGKILL')))
    await rm(directory, { recursive: true, force: true })
  })

  const runId = (redis: Redis) => redis.info('server').then((info) => /run_id:(\w+)/.exec(info)?.[1])
  const leadsTo = async (redis: Redis, server: TestRedis) =>
    (await runId(redis).catch(() => undefined)) === (await asAdmin(server, runId))

  it('is its primary, as the user of the URL, and the replica once that has taken over', async function () {
    this.timeout(40_000)
    const redis = createRedis({ url, connectionName: 'test' })
    try {
      await redisReady(redis)
      assert.ok(await leadsTo(redis, servers[0]))
      await assert.rejects(redis.flushall(), /NOPERM/)
      // A replica is only promoted once Sentinel has met it.
      await sleep(1_000)
      await servers[0].stop('SIGKILL')
      for (const end = performance.now() + 30_000; !(await leadsTo(redis, servers[1])); await sleep(100))
        assert.ok(performance.now() < end, 'never led to the replica')
    } finally {
      redis.disconnect()
    }
  })

  it('is refused when the URL names no group', () => {
    assert.throws(
      () => createRedis({ url: 'redis+sentinel://host:1', connectionName: 'test' }),
      /redis\+sentinel/,
    )
  })
})
