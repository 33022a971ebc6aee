import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { forBlock, forEachTest } from '../support/block.ts'
import { sharedDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  asAdmin,
  createSubjects,
  dump,
  FAST,
  promote,
  replicate,
  restartFrom,
  revokeClient,
  startNetworked,
  startTestProcess,
  type TestProcess,
  through,
} from '../support/revocation.ts'
import { createTestRedis, type TestRedis } from '../support/servers.ts'
import type { TcpProxy } from '../support/tcp-proxy.ts'

/*
 * Two processes, each behind its own stretch of network to Redis and to Postgres, and two Redis servers.
 * After every fault: whatever was revoked is refused by both, from the moment that the revocation was
 * answered.
 */
describe('a revoked client stays refused', () => {
  const database = sharedDatabase()
  const servers = [forBlock(createTestRedis), forBlock(createTestRedis)] as const
  const subjects = forBlock(() => createSubjects(database.owner))
  let cleanups = new AsyncDisposableStack()
  afterEach(() => cleanups.disposeAsync())
  const start = () => startNetworked({ server: servers[0], databaseUrl: database.apiUrl })
  const [here, there] = [forEachTest(start), forEachTest(start)]
  beforeEach(async () => {
    cleanups = new AsyncDisposableStack()
    for (const server of servers) await asAdmin(server, (redis) => redis.flushall())
    await Promise.all([here.untilTrusted(), there.untilTrusted()])
  })

  const revoke = (process: TestProcess, clientId: string) =>
    revokeClient(process, { vendorId: subjects.vendorId, clientId })
  const refusedBy = async (clientId: string, ...processes: TestProcess[]) => {
    for (const process of processes)
      assert.match(await process.ask({ clientId }), /^(client revoked|undecided) by /)
  }
  /** On a busy machine Redis may lose its say for a moment. Then Postgres gives the same answer, or none. */
  const saidByRedis = (process: TestProcess, clientId: string, standing: 'live' | 'client revoked') =>
    eventually(async () => {
      const answer = await process.ask({ clientId })
      assert.match(answer, new RegExp(`^(${standing}|undecided) by `))
      return answer === `${standing} by redis`
    })
  const connected = async (...processes: TestProcess[]) => {
    for (const { redis } of processes) while (redis.status !== 'ready') await sleep(5)
  }
  /** It lives for half a second otherwise, and a busy machine may be away for longer. */
  const persistMarker = () =>
    eventually(async () => {
      await here.reconciler.round()
      return (await asAdmin(servers[0], (redis) => redis.persist(redisKeys.revocationMarker))) === 1
    })
  const runId = (server: TestRedis) =>
    asAdmin(server, async (redis) => /run_id:(\w+)/.exec(await redis.info('server'))?.[1])

  it('refuses a revoked client when Redis restarts from an older dump with a live marker', async () => {
    const [revoked, live] = [await subjects.newClient(), await subjects.newClient()]
    await persistMarker()
    const old = await dump(servers[0])
    await revoke(here, revoked)
    await restartFrom(servers[0], old)
    await connected(here, there)
    assert.notEqual(await asAdmin(servers[0], (redis) => redis.get(redisKeys.revocationMarker)), null)
    // Long enough for ticks: the connection must not take the old marker for a new one.
    for (let i = 0; i < 5; i += 1) {
      await refusedBy(revoked, here, there)
      assert.equal(await there.ask({ clientId: live }), 'live by postgres')
      await sleep(FAST.tick_ms)
    }
    await there.untilTrusted()
    await saidByRedis(there, revoked, 'client revoked')
  })

  /** A process with so long a lease that nothing else can end it, believing the first server. */
  async function startTrusting(redis: TcpProxy): Promise<TestProcess> {
    const trusting = await startTestProcess({
      redisUrl: through(servers[0].url('api'), redis),
      databaseUrl: database.apiUrl,
      timings: { ...FAST, lease_ms: 60_000, tick_ms: 60_000 },
    })
    cleanups.use(trusting)
    const stop = here.keepReconciling()
    const clientId = await subjects.newClient()
    while ((await trusting.ask({ clientId })) !== 'live by redis') await sleep(FAST.round_ms)
    await stop()
    await persistMarker()
    return trusting
  }

  it('refuses a revoked client when a connection moves between ticks to a copy that missed the revocation', async () => {
    const [revoked, live] = [await subjects.newClient(), await subjects.newClient()]
    const { redis } = there.networks
    const trusting = await startTrusting(redis)
    await replicate(servers[0], servers[1])
    await promote(servers[1])
    await revoke(here, revoked)
    redis.lead(servers[1].port)
    await sleep(20)
    await connected(trusting)
    assert.equal(await trusting.ask({ clientId: revoked }), 'client revoked by postgres')
    assert.equal(await trusting.ask({ clientId: live }), 'live by postgres')
  })

  for (const readOnly of ['yes', 'no'])
    it(`refuses a revoked client when the primary starts to replicate a server that never saw it (replica-read-only ${readOnly})`, async () => {
      await asAdmin(servers[0], (redis) => redis.config('SET', 'replica-read-only', readOnly))
      cleanups.defer(async () => {
        await asAdmin(servers[0], (redis) => redis.config('SET', 'replica-read-only', 'yes'))
      })
      const [revoked, live] = [await subjects.newClient(), await subjects.newClient()]
      const trusting = await startTrusting(there.networks.redis)
      await replicate(servers[0], servers[1])
      await promote(servers[1])
      await revoke(here, revoked)
      await replicate(servers[1], servers[0])
      cleanups.defer(() => promote(servers[0]))
      const [marker, entry] = await asAdmin(servers[0], (redis) =>
        redis.mget(redisKeys.revocationMarker, redisKeys.revoked('client', revoked)),
      )
      assert.equal(marker?.split(' ')[0], await runId(servers[0]))
      assert.equal(entry, null)
      assert.equal(await trusting.ask({ clientId: revoked }), 'client revoked by postgres')
      assert.equal(await trusting.ask({ clientId: live }), 'live by postgres')
      await refusedBy(revoked, here, there)
    })

  it('refuses a revoked client when a replica takes over and the former primary closes no connection, and trusts the new one soon', async () => {
    const [before, after] = [await subjects.newClient(), await subjects.newClient()]
    await replicate(servers[0], servers[1])
    await revoke(here, before)
    // As managed services do: the address leads to the new primary, and open connections stay in place.
    await promote(servers[1])
    await replicate(servers[1], servers[0])
    cleanups.defer(() => promote(servers[0]))
    for (const { networks } of [here, there]) networks.redis.move(servers[1].port)
    await revoke(here, after)
    await refusedBy(before, here, there)
    await refusedBy(after, here, there)
    await Promise.all([here.untilTrusted(), there.untilTrusted()])
    for (const process of [here, there]) {
      await saidByRedis(process, before, 'client revoked')
      await saidByRedis(process, after, 'client revoked')
    }
  })

  it('refuses a revoked client when the network splits, each half with a primary', async () => {
    const [first, second, live] = [
      await subjects.newClient(),
      await subjects.newClient(),
      await subjects.newClient(),
    ]
    // `there` and its server are cut off; the other half goes on with the second server.
    there.networks.postgres.stall()
    await replicate(servers[0], servers[1])
    await promote(servers[1])
    here.networks.redis.lead(servers[1].port)
    await sleep(20)
    await connected(here)
    await Promise.all([revoke(here, first), here.untilTrusted()])
    await refusedBy(first, here, there)
    // Now at once, vouched for by the second server: the first must have lost every lease.
    cleanups.defer(here.keepReconciling())
    const patient = await startTestProcess({
      redisUrl: through(servers[0].url('api'), here.networks.redis),
      databaseUrl: database.apiUrl,
      // It would wait for longer than a test may take.
      timings: { ...FAST, settle_ms: 600_000 },
    })
    cleanups.use(patient)
    await revoke(patient, second)
    await refusedBy(second, here, there)
    await saidByRedis(here, live, 'live')
    assert.equal(await there.ask({ clientId: live }), 'undecided by neither')
  })
})
