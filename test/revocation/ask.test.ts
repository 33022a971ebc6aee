import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ASK } from '#shared/revocation/redis.ts'
import { createPrimaryAsk, insertRevokedSigningKey, insertRevokedToken } from '#shared/revocation/state.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { migrate } from '../../infra/database/migrate.ts'
import { startPostgres } from '../../infra/local/postgres.ts'
import { afterwards, forBlock, forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/ports.ts'
import {
  createSubjects,
  FAST,
  freeze,
  newJti,
  sharedStores,
  type TestProcessOptions,
  through,
} from '../support/revocation.ts'
import { connectedDatabase, countBlocked, FENCES, lockTable, untilBlocked } from '../support/stores.ts'
import { createTcpProxy } from '../support/tcp-proxy.ts'

/** No busy machine takes longer than the lease from a round to the next question and Postgres's answer. */
const LONG = Object.freeze({ ...FAST, lease_ms: 60_000, askPostgres_ms: 60_000 })

describe('asking whether a subject is revoked', () => {
  const stores = sharedStores()
  const toPostgres = forBlock(() => createTcpProxy(Number(new URL(stores.database.ownerUrl).port)))
  afterEach(async () => {
    toPostgres.heal()
    await stores.asAdmin((redis) => redis.del(redisKeys.revocationMarker))
  })
  const auth = forEachTest(() => viaProxy('auth', { timings: LONG }))
  const api = forEachTest(() => viaProxy('api', { timings: LONG }))

  const viaProxy = (user: 'auth' | 'api', options: Partial<TestProcessOptions>) =>
    stores.start(user, { databaseUrl: through(stores.database[`${user}Url`], toPostgres), ...options })
  /** Has `api` reconcile until `asking` have each believed Redis. Returns a function that stops it. */
  const trusted = async (asking = [api, auth]) => {
    const stop = api.keepReconciling()
    await eventually(async () => {
      const answers = await Promise.all(asking.map((process) => process.ask({ clientId: 'cli_x' })))
      return answers.every((answer) => answer === 'live by redis')
    })
    return stop
  }

  it('has Postgres refuse each of client, token and key alone', async () => {
    const [revoked, live] = await Promise.all([stores.newClient(), stores.newClient()])
    const [jti, kid, otherKid] = [newJti(), await stores.newKey(), await stores.newKey()]
    await stores.markRevoked(revoked)
    await insertRevokedToken(stores.db, { jti, clientId: live, expiresAt: new Date(Date.now() + 900_000) })
    await insertRevokedSigningKey(stores.db, kid)
    for (const process of [auth, api]) {
      assert.equal(await process.ask({ clientId: revoked, jti, kid }), 'client revoked by postgres')
      assert.equal(await process.ask({ clientId: live, jti, kid: otherKid }), 'token revoked by postgres')
      assert.equal(await process.ask({ clientId: live, jti, kid }), 'key revoked by postgres')
      assert.equal(await process.ask({ clientId: live, jti: newJti(), kid: otherKid }), 'live by postgres')
    }
  })

  it('has Postgres refuse a client that does not exist', async () =>
    assert.equal(await api.ask({ clientId: newClientId() }), 'client revoked by postgres'))

  it('refuses an id that Postgres cannot hold, without harm to those who ask beside it', async () => {
    const clientId = await stores.newClient()
    const ids = [{ clientId: 'cli_\0' }, { clientId }, { clientId, jti: 'a\0' }, { clientId, kid: '\ud800' }]
    const standings = await Promise.all(ids.map(api.revocation.ask))
    assert.deepEqual(standings, [{ revoked: 'client' }, 'live', { revoked: 'token' }, 'live'])
  })

  it('needs one Redis command to decide, and no Postgres', async () => {
    const clientId = await stores.newClient()
    const stop = await trusted()
    toPostgres.cut()
    const calls = (info: string) => Number(/cmdstat_mget:calls=(\d+)/.exec(info)?.[1])
    const before = calls(await stores.asAdmin((redis) => redis.info('commandstats')))
    assert.equal(await api.ask({ clientId, jti: newJti(), kid: 'k' }), 'live by redis')
    assert.equal(calls(await stores.asAdmin((redis) => redis.info('commandstats'))) - before, 1)
    await stop()
  })

  it('stops believing a marker that Redis keeps too long, as when its clock is set back', async () => {
    const clientId = await stores.newClient()
    const asking = await Promise.all([stores.start('auth'), stores.start('api')])
    const stop = await trusted(asking)
    await stop()
    await sleep(FAST.lease_ms + FAST.round_ms)
    for (const process of asking) assert.equal(await process.ask({ clientId }), 'live by postgres')
    // Redis still has it: a process with a longer lease believes it.
    assert.equal(await api.ask({ clientId }), 'live by redis')
  })

  it('believes an entry in Redis even without a marker and without Postgres', async () => {
    const clientId = await stores.newClient()
    await stores.asAdmin((redis) => redis.set(redisKeys.revoked('client', clientId), '1', 'PX', 60_000))
    toPostgres.cut()
    assert.equal(await api.ask({ clientId }), 'client revoked by redis')
  })

  it('has Redis name the client before the key, and the key before the token', async () => {
    const [clientId, jti, kid] = [newClientId(), newJti(), newJti()]
    for (const [kind, id] of Object.entries({ token: jti, key: kid, client: clientId })) {
      await stores.asAdmin((redis) => redis.set(redisKeys.revoked(kind as 'key', id), '1', 'PX', 60_000))
      assert.equal(await auth.ask({ clientId, jti, kid }), `${kind} revoked by redis`)
    }
  })

  it('has Redis answer thousands who ask at once', async () => {
    const kid = newJti()
    await stores.asAdmin((redis) => redis.set(redisKeys.revoked('key', kid), '1', 'PX', 60_000))
    const asked = Array.from({ length: 5_000 }, (_, i) => ({ clientId: `cli_${i}`, jti: `jti-${i}`, kid }))
    // Not each time: on a busy machine a command may take longer than Redis is waited for.
    await eventually(async () => {
      const standings = await Promise.all(asked.map((subject) => api.revocation.ask(subject)))
      // Postgres would refuse the client, which does not exist.
      return standings.every((standing) => typeof standing === 'object' && standing.revoked === 'key')
    })
  })

  it('asks Postgres when Redis does not answer, and after the first time does not wait for it', async () => {
    const clientId = await stores.newClient()
    const stop = await trusted()
    // Only its questions can tell it that Redis is silent: it ticks no more.
    const asking = await stores.start('auth', { timings: { ...FAST, lease_ms: 60_000, tick_ms: 60_000 } })
    await eventually(async () => (await asking.ask({ clientId })) === 'live by redis')
    const thaw = await freeze(stores.server)
    try {
      assert.equal(await asking.ask({ clientId }), 'live by postgres')
      const { redis } = asking
      const send = redis.eval.bind(redis) as (...command: unknown[]) => Promise<unknown>
      const sent: unknown[] = []
      redis.eval = ((...command: unknown[]) => {
        sent.push(command[0])
        return send(...command)
      }) as typeof redis.eval
      for (let i = 0; i < 8; i += 1) assert.equal(await asking.ask({ clientId }), 'live by postgres')
      assert.ok(!sent.includes(ASK))
    } finally {
      thaw()
    }
    await stop()
    await api.untilTrusted()
  })

  it('is undecided when neither store answers, within its deadlines', async () => {
    const clientId = await stores.newClient()
    const timings = { ...LONG, askPostgres_ms: FAST.askPostgres_ms }
    const asking = await Promise.all([
      viaProxy('auth', { timings }),
      viaProxy('api', { timings }),
      // On a connection that is there already, and whose statements may run for longer than a test.
      viaProxy('api', { timings, statementTimeout_ms: 600_000 }),
    ])
    await Promise.all(asking.map(({ db }) => db.raw('select 1')))
    const stop = await trusted(asking)
    for (const fault of ['stall', 'cut'] as const) {
      const thaw = await freeze(stores.server)
      toPostgres[fault]()
      await using _ = afterwards(() => {
        toPostgres.heal()
        thaw()
      })
      for (const process of asking) assert.equal(await process.ask({ clientId }), 'undecided by neither')
    }
    await stop()
    await api.untilTrusted()
  })

  it('gives Postgres 1 s to decide in production', () =>
    assert.equal(PRODUCTION_TIMINGS.askPostgres_ms, 1_000))

  it('is undecided by its own deadline also when it waited for other statements first', async () => {
    const clientId = await stores.newClient()
    const deadline_ms = 400
    const ask = createPrimaryAsk({ db: api.db, deadline_ms })
    const lock = await lockTable(stores.db, 'oauth_clients')
    await using _ = afterwards(() => lock.rollback())
    const before = []
    for (const _ of [1, 2]) {
      before.push(ask({ clientId }))
      await sleep(deadline_ms / 8)
    }
    // Its own statement begins when those before it have been given up.
    const first = await Promise.race([ask({ clientId }), sleep(1.4 * deadline_ms, 'later')])
    assert.equal(first, 'undecided')
    assert.deepEqual(await Promise.all(before), ['undecided', 'undecided'])
  })

  it('leaves connections to others while Postgres does not answer: it takes two', async () => {
    const clientId = await stores.newClient()
    const ask = createPrimaryAsk({ db: api.db, deadline_ms: 20_000 })
    const lock = await lockTable(stores.db, 'oauth_clients')
    const asked = []
    for (const _ of [1, 2, 3, 4]) {
      asked.push(ask({ clientId }))
      await sleep(20)
    }
    await untilBlocked(stores.db, 2)
    await sleep(50)
    const taken = await countBlocked(stores.db)
    await lock.rollback()
    assert.deepEqual([taken, ...(await Promise.all(asked))], [2, 'live', 'live', 'live', 'live'])
  })

  for (const [why, begin, end] of FENCES)
    it(`is undecided while ${why}`, async () => {
      const clientId = await stores.newClient()
      await stores.asAdmin((redis) => redis.flushall())
      assert.equal(await api.ask({ clientId }), 'live by postgres')
      await stores.db.raw(begin)
      await using _ = afterwards(() => stores.db.raw(end))
      assert.equal(await api.ask({ clientId }), 'undecided by neither')
    })

  it('is undecided when the database is a standby, which may not know yet', async () => {
    const directory = await mkdtemp(join(tmpdir(), `standby-${randomUUID()}-`))
    const options = { directory: join(directory, 'data'), port: await freePort(), password: 'p' }
    const primary = await startPostgres(options)
    await migrate({ ownerUrl: primary.url('postgres') })
    const db = connectedDatabase(primary.url('postgres'))
    const clientId = await (await createSubjects(db)).newClient()
    // Named and confirmed already, so a round has nothing to write and can only notice that it is a standby.
    const info = await stores.asAdmin((redis) => redis.info('server'))
    const runId = /run_id:(\w+)/.exec(info)?.[1] ?? ''
    await db.raw('update revocation_trust set run_id = ?, since = now(), place = database_place()', [runId])
    await db.destroy()
    await primary.stop()
    await writeFile(join(options.directory, 'standby.signal'), '')
    const standby = await startPostgres(options)
    const process = await stores.start('api', { databaseUrl: standby.url('postgres') })
    await using _ = afterwards(async () => {
      await process.close()
      await standby.stop()
      await rm(directory, { recursive: true, force: true })
    })
    assert.equal(await process.ask({ clientId }), 'undecided by neither')
    const reason = 'Postgres: a standby answers'
    assert.deepEqual(await process.reconciler.round(), { outcome: 'failed', reason })
  })
})
