import { strict as assert } from 'node:assert'
import { Redis } from 'ioredis'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { createClientUsage } from '#shared/usage/client-usage.ts'
import { drainUsage } from '../../apps/api/clients/usage.ts'
import { startAuth, type TestAuth, type TestClient } from '../support/auth.ts'
import { connectedRedis } from '../support/redis.ts'

const HOUR_MS = 3_600_000

describe('the usage of clients', () => {
  let auth: TestAuth
  let db: Database
  let redis: Redis
  let authRedis: Redis
  let admin: Redis
  let client: TestClient

  before(async () => {
    auth = await startAuth()
    db = createPostgres({ url: auth.database.apiUrl, poolSize: 4, applicationName: 'test' })
    redis = await connectedRedis(auth.redis.url('api'))
    authRedis = await connectedRedis(auth.redis.url('auth'))
    admin = new Redis(auth.redis.url('admin'))
    admin.on('error', () => {})
  })
  after(async () => {
    redis.disconnect()
    authRedis.disconnect()
    admin.disconnect()
    await db.destroy()
    await auth.stop()
  })
  beforeEach(async () => {
    await admin.del('usage:pending', 'usage:draining')
    client = await auth.createClient()
  })

  const counter = () => createClientUsage({ redis: authRedis, clock: auth.clock })
  async function stored({ clientId }: TestClient): Promise<{ last: Date | undefined; tokens: number }> {
    const last = await auth.db.raw('select last_used_at from client_usage where client_id = ?', [clientId])
    const hours = await auth.db.raw(
      'select coalesce(sum(tokens), 0)::int as tokens from client_usage_hourly where client_id = ?',
      [clientId],
    )
    return { last: last.rows[0]?.last_used_at, tokens: hours.rows[0].tokens }
  }

  it('reaches Redis within seconds of a token', async () => {
    await auth.token(client)
    await auth.token(client)
    await auth.token(client, { scope: 'refused' })
    await assertSoon(async () => {
      const hash = await admin.hgetall('usage:pending')
      const hour = Math.floor(auth.clock.now() / HOUR_MS)
      assert.deepEqual(hash, {
        [`${client.clientId}|${hour}`]: '2',
        [`${client.clientId}|m|${Math.floor(auth.clock.now() / 60_000)}`]: '2',
        [`${client.clientId}|r|${Math.floor(auth.clock.now() / 60_000)}`]: '1',
        [`${client.clientId}|a|127.0.0.1`]: '2',
        [`${client.clientId}|last`]: String(auth.clock.now()),
        [`${client.clientId}|l|127.0.0.1`]: String(auth.clock.now()),
        [`${client.clientId}|s|analytics:read`]: String(auth.clock.now()),
      })
    })
  })

  it('moves usage to Postgres, by hour, and adds it up', async () => {
    const usage = counter()
    const start_ms = auth.clock.now()
    for (const _ of [1, 2, 3]) usage.issued(client.clientId, 'analytics:read', '192.0.2.1')
    await usage.flush()
    assert.equal(await drainUsage({ redis, db }), 1)
    auth.clock.advance(HOUR_MS)
    usage.issued(client.clientId, 'analytics:read', '192.0.2.1')
    await usage.flush()
    assert.equal(await drainUsage({ redis, db }), 1)
    assert.deepEqual(await stored(client), { last: new Date(start_ms + HOUR_MS), tokens: 4 })
    const { rows } = await auth.db.raw(
      'select hour, tokens::int from client_usage_hourly where client_id = ? order by hour',
      [client.clientId],
    )
    assert.deepEqual(
      rows.map(({ tokens }: { tokens: number }) => tokens),
      [3, 1],
    )
    for (const { hour } of rows) assert.equal(hour.getTime() % HOUR_MS, 0)
    assert.equal(await admin.exists('usage:pending', 'usage:draining'), 0)
  })

  it('never moves a last use back in time', async () => {
    const usage = counter()
    const late = auth.clock.now()
    usage.issued(client.clientId, 'analytics:read', '192.0.2.1')
    await usage.flush()
    await drainUsage({ redis, db })
    auth.clock.advance(-60_000)
    usage.issued(client.clientId, 'analytics:read', '192.0.2.1')
    await usage.flush()
    await drainUsage({ redis, db })
    assert.equal((await stored(client)).last?.getTime(), late)
    auth.clock.set(late)
  })

  it('stores usage once when several processes drain at the same time', async () => {
    const usage = counter()
    usage.issued(client.clientId, 'analytics:read', '192.0.2.1')
    await usage.flush()
    const drained = await Promise.all([1, 2, 3, 4].map(() => drainUsage({ redis, db })))
    assert.equal(
      drained.reduce((sum, n) => sum + n),
      1,
    )
    assert.equal((await stored(client)).tokens, 1)
  })

  it('stores what a crash left with the next drain, and later usage with the one after', async () => {
    const usage = counter()
    usage.issued(client.clientId, 'analytics:read', '192.0.2.1')
    await usage.flush()
    await admin.rename('usage:pending', 'usage:draining')
    usage.issued(client.clientId, 'analytics:read', '192.0.2.1')
    await usage.flush()
    await drainUsage({ redis, db })
    assert.equal((await stored(client)).tokens, 1)
    await drainUsage({ redis, db })
    assert.equal((await stored(client)).tokens, 2)
  })

  it('names at most 20 addresses of a client in one flush, and counts every token', async () => {
    const usage = counter()
    for (let host = 1; host <= 25; host += 1)
      usage.issued(client.clientId, 'analytics:read', `192.0.2.${host}`)
    await usage.flush()
    const fields = await admin.hgetall('usage:pending')
    const addresses = Object.keys(fields).filter((field) => field.startsWith(`${client.clientId}|a|`))
    assert.equal(addresses.length, 20)
    const hour = Math.floor(auth.clock.now() / HOUR_MS)
    assert.equal(fields[`${client.clientId}|${hour}`], '25')
  })

  it('counts usage of each client, however many there are in one flush', async () => {
    const usage = counter()
    const clientOf = (n: number) => `cli_${String(n).padStart(22, '0')}`
    for (let n = 0; n < 1_201; n += 1) usage.issued(clientOf(n), 'analytics:read', '192.0.2.1')
    await usage.flush()
    const hour = Math.floor(auth.clock.now() / HOUR_MS)
    const fields = Array.from({ length: 1_201 }, (_, n) => `${clientOf(n)}|${hour}`)
    assert.ok((await admin.hmget('usage:pending', ...fields)).every((count) => count === '1'))
  })

  it('reaches Redis with its times, even while it is drained', async () => {
    const usage = counter()
    const client = (n: number) => `cli_${String(n).padStart(22, '0')}`
    let flushing = true
    const drained: string[][] = []
    async function drain() {
      do {
        const [, fields] = (await admin
          .multi()
          .rename('usage:pending', 'usage:draining')
          .hkeys('usage:draining')
          .del('usage:draining')
          .exec()) as [unknown, [Error | null, string[]], unknown]
        drained.push(fields[1])
      } while (flushing)
    }
    const draining = drain()
    for (let flush = 0; flush < 5; flush += 1) {
      for (let n = 0; n < 200; n += 1)
        for (let address = 0; address < 20; address += 1)
          usage.issued(client(n), 'analytics:read', `192.0.2.${address}`)
      await usage.flush()
    }
    flushing = false
    await draining
    await drain()
    const torn = drained.flatMap((fields) => {
      const times = new Set(fields.filter((field) => field.includes('|l|')))
      return fields.filter((field) => field.includes('|a|') && !times.has(field.replace('|a|', '|l|')))
    })
    assert.deepEqual(torn, [])
    // Not how many: on a busy machine a flush may time out.
    assert.ok(drained.flat().some((field) => field.includes('|a|')))
  })

  it('drops the usage of a client that Postgres does not know', async () => {
    const usage = counter()
    usage.issued('cli_0000000000000000000000', 'analytics:read', '192.0.2.1')
    usage.issued(client.clientId, 'analytics:read', '192.0.2.1')
    await usage.flush()
    await drainUsage({ redis, db })
    assert.equal((await stored(client)).tokens, 1)
    assert.equal(await admin.exists('usage:draining'), 0)
  })

  it('keeps usage while Redis is down, and disturbs no request', async () => {
    await auth.redis.stop('SIGTERM')
    assert.equal((await auth.token(client)).status, 200)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await auth.redis.start()
    await assertSoon(async () => {
      assert.ok(await admin.hexists('usage:pending', `${client.clientId}|last`))
    })
  })

  it('flushes usage when the server closes', async () => {
    const other = await startAuth({ beside: auth })
    await other.token(client)
    await other.stop()
    assert.ok(await admin.hexists('usage:pending', `${client.clientId}|last`))
  })
})

async function assertSoon(check: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + 60_000
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
