import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { readClientCredentials } from '#shared/oauth/client-credentials.ts'
import { markClientRevoked } from '#shared/oauth/clients.ts'
import { newClientId } from '#shared/oauth/new-ids.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { isUnavailable } from '#shared/stores/postgres-errors.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { eventually } from '../support/eventually.ts'
import {
  asAdmin,
  createSubjects,
  FAST,
  newJti,
  revokeClient,
  revokeKey,
  revokeToken,
  type Subjects,
  startProcess,
  type TestProcess,
} from '../support/revocation.ts'
import { createTestDatabase, createTestRedis, type TestDatabase, type TestRedis } from '../support/servers.ts'

describe('revoking', () => {
  let database: TestDatabase
  let server: TestRedis
  let owner: Database
  let subjects: Subjects
  let auth: TestProcess
  let api: TestProcess
  let admin: TestProcess
  let stopMarking: () => Promise<void>

  before(async () => {
    ;[database, server] = await Promise.all([createTestDatabase(), createTestRedis()])
    owner = createPostgres({ url: database.ownerUrl, poolSize: 2, applicationName: 'test' })
    subjects = await createSubjects(owner)
    ;[auth, api, admin] = await Promise.all([
      startProcess({ redisUrl: server.url('auth'), databaseUrl: database.authUrl }),
      startProcess({ redisUrl: server.url('api'), databaseUrl: database.apiUrl }),
      startProcess({ redisUrl: server.url('api'), databaseUrl: database.ownerUrl }),
    ])
  })
  beforeEach(async () => {
    stopMarking = api.keepReconciling()
    const subject = { clientId: newClientId() }
    const decided = async () => Promise.all([auth, api, admin].map((process) => process.ask(subject)))
    await eventually(async () => (await decided()).every((by) => by === 'live by redis'))
  })
  afterEach(() => stopMarking())
  after(async () => {
    await Promise.all([auth, api, admin, ...patient].map((process) => process.close()))
    await Promise.all([server.stop('SIGKILL'), owner.destroy()])
    await database.drop()
  })

  const timed = async <T>(act: Promise<T>): Promise<{ result: T; took_ms: number }> => {
    const before = performance.now()
    const result = await act
    // A timer counts whole milliseconds, so it can be over a fraction of one early.
    return { result, took_ms: Math.ceil(performance.now() - before) }
  }
  const patient: TestProcess[] = []
  /** Processes of the three roles that wait for ten minutes whenever Redis cannot vouch for what they revoke. */
  async function patientProcesses() {
    const timings = { ...FAST, settle_ms: 600_000 }
    const start = (user: 'auth' | 'api', databaseUrl: string) =>
      startProcess({ redisUrl: server.url(user), databaseUrl, timings })
    const started = await Promise.all([
      start('auth', database.authUrl),
      start('api', database.apiUrl),
      start('api', database.ownerUrl),
    ])
    patient.push(...started)
    return started
  }
  const removeMarker = async () => {
    await stopMarking()
    await asAdmin(server, (redis) => redis.del(redisKeys.revocationMarker))
  }

  it('answers at once when Redis vouches, and every process refuses from then on', async () => {
    const { vendorId } = subjects
    const [clientId, other, kid] = [
      await subjects.newClient(),
      await subjects.newClient(),
      await subjects.newKey(),
    ]
    const jti = newJti()
    // These would wait for longer than a test may take.
    const [patientAuth, patientApi, patientAdmin] = await patientProcesses()
    const acts = [
      [() => revokeToken(patientAuth, { clientId: other, jti }), { clientId: other, jti }],
      [() => revokeClient(patientApi, { vendorId, clientId }), { clientId }],
      [() => revokeKey(patientAdmin, kid), { clientId: other, jti: newJti(), kid }],
    ] as const
    for (const [act, subject] of acts) {
      // On a busy machine a lease of these short ones may lapse; the next round renews it.
      for (const process of [auth, api, admin])
        while ((await process.ask(subject)) !== 'live by redis') await sleep(20)
      await act()
      for (const process of [auth, api, admin]) {
        let answer = await process.ask(subject)
        for (; !answer.endsWith(' revoked by redis'); answer = await process.ask(subject))
          assert.match(answer, / revoked by postgres$/)
      }
    }
    const untouched = { clientId: other, jti: newJti() }
    let answer = await auth.ask(untouched)
    for (; answer !== 'live by redis'; answer = await auth.ask(untouched))
      assert.equal(answer, 'live by postgres')
  })

  it('writes an entry that lives an hour, and never shortens one', async () => {
    const clientId = await subjects.newClient()
    const life_ms = () => asAdmin(server, (redis) => redis.pttl(redisKeys.revoked('client', clientId)))
    await revokeClient(api, { vendorId: subjects.vendorId, clientId })
    assert.equal(PRODUCTION_TIMINGS.entry_ms, 3_600_000)
    assert.ok((await life_ms()) > 3_590_000)
    await asAdmin(server, (redis) => redis.pexpire(redisKeys.revoked('client', clientId), 1_000_000))
    await revokeClient(api, { vendorId: subjects.vendorId, clientId })
    assert.ok((await life_ms()) > 3_590_000)
  })

  it('gives back what the commit gave', async () => {
    const clientId = await subjects.newClient()
    assert.equal(await revokeClient(api, { vendorId: subjects.vendorId, clientId }), true)
    assert.equal(await revokeClient(api, { vendorId: subjects.vendorId, clientId }), false)
  })

  it('runs a repeated revocation in full', async () => {
    const clientId = await subjects.newClient()
    const key = redisKeys.revoked('client', clientId)
    await revokeClient(api, { vendorId: subjects.vendorId, clientId })
    await asAdmin(server, (redis) => redis.del(key))
    await revokeClient(api, { vendorId: subjects.vendorId, clientId })
    assert.equal(await asAdmin(server, (redis) => redis.get(key)), '1')
    await removeMarker()
    const { took_ms } = await timed(revokeClient(api, { vendorId: subjects.vendorId, clientId }))
    assert.ok(took_ms >= FAST.settle_ms, `took ${took_ms} ms`)
  })

  it('rejects and changes nothing when the commit rejects', async () => {
    const clientId = await subjects.newClient()
    const failing = api.revocation.revoke({ kind: 'client', id: clientId }, async (transaction) => {
      await markClientRevoked(transaction, { vendorId: subjects.vendorId, clientId, revokedBy: null })
      throw new Error('the activity entry could not be written')
    })
    await assert.rejects(failing, /activity entry/)
    assert.equal((await readClientCredentials(owner, [clientId]))[0]?.status, 'Active')
    assert.equal(await auth.ask({ clientId }), 'live by redis')
  })

  it('rejects when Postgres fails at the commit itself', async () => {
    const clientId = await subjects.newClient()
    const failing = api.revocation.revoke({ kind: 'client', id: clientId }, async (transaction) => {
      const { rows } = await transaction.raw('select pg_backend_pid() as pid')
      // The statement after this one finds its connection gone.
      await owner.raw('select pg_terminate_backend(?)', [rows[0].pid])
    })
    await assert.rejects(failing)
    assert.equal(await auth.ask({ clientId }), 'live by redis')
  })

  describe('gives up before its commit', () => {
    const COMMIT_MS = 500
    let hasty: TestProcess
    before(async () => {
      hasty = await startProcess({
        redisUrl: server.url('api'),
        databaseUrl: database.apiUrl,
        timings: { ...FAST, commit_ms: COMMIT_MS },
        // Nothing else ends its wait in time.
        statementTimeout_ms: 60_000,
      })
    })
    after(() => hasty.close())

    /** Revokes while another transaction is in the way. */
    async function refusedWhile(statement: string, clientId: string): Promise<void> {
      const inTheWay = await owner.transaction()
      await inTheWay.raw(statement)
      const revoking = revokeClient(hasty, { vendorId: subjects.vendorId, clientId })
      const result = await revoking.catch((error: unknown) => error)
      const holdsNone = () => hasty.db.client.pool.numUsed() === 0
      try {
        await eventually(holdsNone, {
          otherwise: () => 'its connection still waits',
        })
      } finally {
        await inTheWay.rollback()
      }
      assert.ok(isUnavailable(result), String(result))
    }

    for (const table of ['oauth_clients', 'revocation_trust'])
      it(`gives up before the commit when ${table} is locked, and changes nothing even once unlocked`, async () => {
        const clientId = await subjects.newClient()
        await refusedWhile(`lock table ${table} in access exclusive mode`, clientId)
        await sleep(COMMIT_MS)
        assert.equal((await readClientCredentials(owner, [clientId]))[0]?.status, 'Active')
        assert.equal(await asAdmin(server, (redis) => redis.exists(redisKeys.revoked('client', clientId))), 0)
        assert.equal(await revokeClient(hasty, { vendorId: subjects.vendorId, clientId }), true)
      })

    it('gives up before the commit when no connection is free', async () => {
      const clientId = await subjects.newClient()
      const busy = await Promise.all(Array.from({ length: 5 }, () => hasty.db.transaction()))
      const revoking = revokeClient(hasty, { vendorId: subjects.vendorId, clientId })
      const result = await revoking.catch((error: unknown) => error)
      await Promise.all(busy.map((transaction) => transaction.rollback()))
      assert.ok(isUnavailable(result), String(result))
      await sleep(COMMIT_MS)
      assert.equal((await readClientCredentials(owner, [clientId]))[0]?.status, 'Active')
    })

    it('gives up before the commit when its own work takes too long', async () => {
      const clientId = await subjects.newClient()
      const slow = hasty.revocation.revoke({ kind: 'client', id: clientId }, async (transaction) => {
        await markClientRevoked(transaction, { vendorId: subjects.vendorId, clientId, revokedBy: null })
        await sleep(COMMIT_MS + 100)
      })
      await assert.rejects(slow, isUnavailable)
      await eventually(() => hasty.db.client.pool.numUsed() === 0)
      assert.equal((await readClientCredentials(owner, [clientId]))[0]?.status, 'Active')
    })

    it('never gives up a commit that has begun, however long it takes', async () => {
      const clientId = await subjects.newClient()
      await owner.raw(`
        create function commit_slowly() returns trigger language plpgsql
          as $$ begin perform pg_sleep(${(COMMIT_MS + 100) / 1_000}); return null; end $$;
        create constraint trigger commit_slowly after update on oauth_clients deferrable initially deferred
          for each row execute function commit_slowly()`)
      try {
        assert.equal(await revokeClient(hasty, { vendorId: subjects.vendorId, clientId }), true)
      } finally {
        await owner.raw('drop function commit_slowly cascade')
      }
      for (const process of [auth, api, admin])
        assert.match(await process.ask({ clientId }), /^client revoked by /)
    })

    it('gives up before the commit after 3 s in production', () =>
      assert.equal(PRODUCTION_TIMINGS.commit_ms, 3_000))
  })

  describe('waits until no lease from before the commit is left', () => {
    const waits = async (because: string, prepare: () => Promise<unknown>) => {
      it(`waits out the leases when ${because}`, async () => {
        const clientId = await subjects.newClient()
        await prepare()
        const { took_ms } = await timed(revokeClient(api, { vendorId: subjects.vendorId, clientId }))
        assert.ok(took_ms >= FAST.settle_ms, `took ${took_ms} ms`)
        for (const process of [auth, api, admin])
          assert.match(await process.ask({ clientId }), / revoked by /)
      })
    }

    waits('there is no marker', removeMarker)
    waits('the marker is of another server', async () => {
      await removeMarker()
      await asAdmin(server, (redis) =>
        redis.set(redisKeys.revocationMarker, `${'0'.repeat(40)} 999999`, 'PX', 2_000),
      )
    })
    waits('the marker is older than a lease', async () => {
      await stopMarking()
      await asAdmin(server, (redis) => redis.pexpire(redisKeys.revocationMarker, 60_000))
      await sleep(FAST.lease_ms)
    })
    waits('Postgres names another server', async () => {
      await stopMarking()
      await owner.raw("update revocation_trust set run_id = 'another', since = clock_timestamp()")
    })

    it('waits out the leases when Redis is down', async () => {
      const clientId = await subjects.newClient()
      await stopMarking()
      await server.stop('SIGKILL')
      try {
        const { took_ms } = await timed(revokeClient(api, { vendorId: subjects.vendorId, clientId }))
        assert.ok(took_ms >= FAST.settle_ms, `took ${took_ms} ms`)
        for (const process of [auth, api, admin])
          assert.equal(await process.ask({ clientId }), 'client revoked by postgres')
      } finally {
        await server.start()
      }
      await api.untilTrusted()
      assert.equal(await api.ask({ clientId }), 'client revoked by redis')
    })

    it('waits from the commit, not from the call', async () => {
      await removeMarker()
      const clientId = await subjects.newClient()
      let worked_ms = 0
      const { took_ms } = await timed(
        api.revocation.revoke({ kind: 'client', id: clientId }, async () => {
          ;({ took_ms: worked_ms } = await timed(sleep(FAST.settle_ms)))
        }),
      )
      assert.ok(took_ms - worked_ms >= FAST.settle_ms, `took ${took_ms} ms`)
    })
  })

  it('answers as soon as Redis can vouch, in a process just started', async () => {
    const clientId = await subjects.newClient()
    const young = await startProcess({
      redisUrl: server.url('api'),
      databaseUrl: database.apiUrl,
      // Longer than a test may take.
      timings: { ...FAST, settle_ms: 600_000 },
    })
    try {
      await revokeClient(young, { vendorId: subjects.vendorId, clientId })
      for (const process of [auth, api, admin])
        assert.equal(await process.ask({ clientId }), 'client revoked by redis')
    } finally {
      await young.close()
    }
  })
})
