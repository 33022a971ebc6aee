import { strict as assert } from 'node:assert'
import { pino } from 'pino'
import type { Database } from '#shared/stores/postgres.ts'
import { createUsageCounts } from '#shared/usage/usage-counts.ts'
import { readUsesMissingBefore } from '../../apps/api/usage/missing-uses.ts'
import { sharedAuth, type TestClient } from '../support/auth.ts'
import { afterwards, forBlock, forEachTest } from '../support/block.ts'
import { stoppedTime } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { through } from '../support/revocation.ts'
import { connectedDatabase, untilBlocked } from '../support/stores.ts'
import { createTcpProxy } from '../support/tcp-proxy.ts'

describe('the usage of clients', () => {
  const auth = sharedAuth()
  const proxy = forBlock(() => createTcpProxy(Number(new URL(auth.database.authUrl).port)))
  let db: Database & AsyncDisposable
  before(() => {
    db = connectedDatabase(through(auth.database.authUrl, proxy), { poolSize: 8 })
  })
  after(() => db.destroy())
  const client = forEachTest(() => auth.createClient())
  beforeEach(() => auth.db.raw('delete from usage_writers'))
  afterEach(() => proxy.heal())

  const counter = (lines: string[] = [], to: Database = db) =>
    createUsageCounts({
      db: to,
      clock: auth.clock,
      log: pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) }),
    })
  const token = (clientId: string, address = '192.0.2.1') => [clientId, 'analytics:read', address] as const
  const countTokens = async ({ clientId }: TestClient): Promise<number> => {
    const uses = await auth.db('client_usage_hourly').where({ client_id: clientId }).sum('tokens')
    return Number(uses[0]?.sum)
  }
  const isMissing = async () => (await readUsesMissingBefore(auth.db)) !== undefined

  it('is stored within seconds of a token', async () => {
    await auth.token(client)
    await auth.token(client)
    await auth.token(client, { scope: 'refused' })
    const answered_ms = performance.now()
    await eventually(async () => (await countTokens(client)) === 2)
    // An idle machine takes at most two.
    assert.ok(performance.now() - answered_ms < 5_000, `${performance.now() - answered_ms} ms`)
    const hours = auth.db('client_usage_hourly').where({ client_id: client.clientId })
    assert.deepEqual(await hours.pluck('refused'), ['1'])
  })

  it('is reported each 15 seconds by an idle process too, so that nothing seems to be missing', async () => {
    const usage = counter()
    await usage.announce()
    const ago = () => auth.db('usage_writers').where({ flushed_at: new Date(0) })
    await auth.db('usage_writers').update({ flushed_at: new Date(0) })
    using time = stoppedTime()
    await usage.flush()
    assert.equal((await ago()).length, 1)
    time.advance(15_001)
    await usage.flush()
    assert.equal((await ago()).length, 0)
  })

  it('is counted exactly by four processes that store the same clients at once', async () => {
    const clients = await Promise.all(Array.from({ length: 40 }, () => auth.createClient()))
    const processes = [1, 2, 3, 4].map(() => counter())
    for (let round = 0; round < 10; round += 1) {
      // In different orders, since each process takes the requests as they come.
      for (const [index, usage] of processes.entries())
        for (const [n] of clients.entries()) {
          const { clientId } = clients[(n * 7 + index * 13) % clients.length] as TestClient
          usage.countToken(...token(clientId, `192.0.2.${n % 3}`))
          usage.countRefusal(clientId)
        }
      await Promise.all(processes.map((usage) => usage.flush()))
    }
    await eventually(async () => {
      await Promise.all(processes.map((usage) => usage.flush()))
      return (await countTokens(clients[0] as TestClient)) >= 40
    })
    assert.deepEqual(new Set(await Promise.all(clients.map(countTokens))), new Set([40]))
  })

  it('loses nothing while Redis takes no more', async () => {
    const admin = await auth.redis.connect('admin')
    await admin.config('SET', 'maxmemory', '1')
    await using _ = afterwards(() => admin.config('SET', 'maxmemory', '0'))
    assert.equal((await auth.token(client)).status, 200)
    await eventually(async () => (await countTokens(client)) === 1)
    const [last] = await auth.db('client_usage').where({ client_id: client.clientId }).pluck('last_used_at')
    assert.deepEqual(last, new Date(auth.clock.now()))
  })

  it('waits while Postgres is away, and is stored once it is back', async () => {
    const lines: string[] = []
    const usage = counter(lines)
    await usage.announce()
    proxy.cut()
    for (const _ of [1, 2, 3]) {
      usage.countToken(...token(client.clientId))
      await usage.flush()
    }
    assert.equal(await countTokens(client), 0)
    proxy.heal()
    await usage.flush()
    assert.equal(await countTokens(client), 3)
    assert.equal(await isMissing(), false)
    assert.deepEqual(lines, [])
    void usage.flush()
    usage.countToken(...token(client.clientId))
    await usage.stop()
    assert.equal(await countTokens(client), 4)
  })

  it('counts a batch once whose answer was lost', async () => {
    const usage = counter()
    await usage.announce()
    const blocked = await auth.db.transaction()
    await blocked.raw('select from usage_writers for update')
    usage.countToken(...token(client.clientId))
    const flushed = usage.flush()
    await untilBlocked(auth.db)
    proxy.cut()
    await flushed
    await blocked.commit()
    // The server does what it was asked, and finds nobody to answer.
    await eventually(async () => (await countTokens(client)) === 1)
    proxy.heal()
    usage.countToken(...token(client.clientId))
    await usage.flush()
    assert.equal(await countTokens(client), 2)
    assert.equal(await isMissing(), false)
  })

  it('drops what is too much while Postgres is away, and notes when it last did', async () => {
    const lines: string[] = []
    const usage = counter(lines)
    await usage.announce()
    proxy.cut()
    const use = () => usage.countToken(...token(client.clientId))
    Array.from({ length: 100_000 }, use)
    const failing = usage.flush()
    // A thousand are on their way, so three are too much.
    Array.from({ length: 1_003 }, use)
    await failing
    await usage.flush()
    assert.equal(await isMissing(), false)
    proxy.heal()
    const { rows } = await auth.db.raw('select clock_timestamp() as now')
    await usage.flush()
    assert.equal(await countTokens(client), 101_000)
    assert.ok(((await readUsesMissingBefore(auth.db)) ?? 0) >= rows[0].now)
    assert.deepEqual([lines.length, JSON.parse(lines[0] ?? '').event], [1, 'usage.lost'])
    await usage.stop()
    assert.ok(await isMissing(), 'the end of the process has hidden the loss')
  })

  it('says that uses may be missing once Postgres has lost a batch after it answered', async () => {
    const usage = counter()
    const use = async () => {
      usage.countToken(...token(client.clientId))
      await usage.flush()
    }
    for (const _ of [1, 2, 3]) await use()
    assert.equal(await isMissing(), false)
    await auth.db('usage_writers').decrement('batch')
    await use()
    assert.ok(await isMissing())
  })

  it('says of a process that ends without Postgres that uses may be missing', async () => {
    const usage = counter()
    await usage.announce()
    usage.countToken(...token(client.clientId))
    proxy.cut()
    await usage.stop()
    assert.equal((await auth.db('usage_writers')).length, 1)
    await auth.db.raw(`update usage_writers set flushed_at = flushed_at - interval '61 seconds'`)
    assert.ok(await isMissing())
  })

  it('says so too if Postgres is back for its last word alone', async () => {
    let failures = 0
    const raw = (...values: Parameters<Database['raw']>) =>
      failures-- > 0 ? Promise.reject(new Error('away')) : db.raw(...values)
    const usage = counter([], { raw } as unknown as Database)
    await usage.announce()
    for (let n = 0; n < 1_500; n += 1) usage.countToken(...token(client.clientId))
    failures = 2
    await usage.stop()
    assert.equal((await auth.db('usage_writers')).length, 1)
  })
})
