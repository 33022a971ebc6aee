import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { readClientCredentials } from '#shared/oauth/client-credentials.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { isUnavailable } from '../../apps/api/stores/postgres-errors.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { FAST, newJti, revokeKey, revokeToken, sharedStores } from '../support/revocation.ts'
import { lockTable } from '../support/stores.ts'

describe('revoking', () => {
  const stores = sharedStores()
  const auth = forBlock(() => stores.start('auth'))
  const api = forBlock(() => stores.start('api'))
  const admin = forBlock(() => stores.start('api', { databaseUrl: stores.database.ownerUrl }))
  let stopMarking: () => Promise<void>

  beforeEach(async () => {
    stopMarking = api.keepReconciling()
    const subject = { clientId: newClientId() }
    const decided = async () => Promise.all([auth, api, admin].map((process) => process.ask(subject)))
    await eventually(async () => (await decided()).every((by) => by === 'live by redis'))
  })
  afterEach(() => stopMarking())

  const timed = async <T>(act: Promise<T>): Promise<{ result: T; took_ms: number }> => {
    const before = performance.now()
    const result = await act
    // A timer counts whole milliseconds, so it can be over a fraction of one early.
    return { result, took_ms: Math.ceil(performance.now() - before) }
  }
  const statusOf = async (clientId: string) => (await readClientCredentials(stores.db, [clientId]))[0]?.status
  /** By whichever store: on a busy machine a lease may have lapsed meanwhile. */
  const assertLive = async (clientId: string) =>
    assert.match(await auth.ask({ clientId }), /^live by (?:redis|postgres)$/)
  /** Revokes, and asserts that the leases were waited out. */
  const revokeSlowly = async (clientId: string) => {
    const { took_ms } = await timed(stores.revoke(api, clientId))
    assert.ok(took_ms >= FAST.settle_ms, `took ${took_ms} ms`)
  }
  /** Has a process wait for longer than a test may take whenever Redis cannot vouch for what it revokes. */
  const PATIENT = { ...FAST, settle_ms: 600_000 }
  const removeMarker = async () => {
    await stopMarking()
    await stores.asAdmin((redis) => redis.del(redisKeys.revocationMarker))
  }

  it('answers at once when Redis vouches, and every process refuses from then on', async () => {
    const [clientId, other, kid] = [await stores.newClient(), await stores.newClient(), await stores.newKey()]
    const jti = newJti()
    const timings = PATIENT
    const patientAuth = await stores.start('auth', { timings })
    const patientApi = await stores.start('api', { timings })
    const patientAdmin = await stores.start('api', { timings, databaseUrl: stores.database.ownerUrl })
    const acts = [
      [() => revokeToken(patientAuth, { clientId: other, jti }), { clientId: other, jti }],
      [() => stores.revoke(patientApi, clientId), { clientId }],
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
    const clientId = await stores.newClient()
    const life_ms = () => stores.asAdmin((redis) => redis.pttl(redisKeys.revoked('client', clientId)))
    await stores.revoke(api, clientId)
    assert.equal(PRODUCTION_TIMINGS.entry_ms, 3_600_000)
    assert.ok((await life_ms()) > 3_590_000)
    await stores.asAdmin((redis) => redis.pexpire(redisKeys.revoked('client', clientId), 1_000_000))
    await stores.revoke(api, clientId)
    assert.ok((await life_ms()) > 3_590_000)
  })

  it('runs a repeated revocation in full, and returns what the commit did', async () => {
    const clientId = await stores.newClient()
    const key = redisKeys.revoked('client', clientId)
    assert.equal(await stores.revoke(api, clientId), true)
    await stores.asAdmin((redis) => redis.del(key))
    assert.equal(await stores.revoke(api, clientId), false)
    assert.equal(await stores.asAdmin((redis) => redis.get(key)), '1')
    await removeMarker()
    await revokeSlowly(clientId)
  })

  it('rejects and changes nothing when the commit rejects', async () => {
    const clientId = await stores.newClient()
    const failing = api.revocation.revoke({ kind: 'client', id: clientId }, async (transaction) => {
      await stores.markRevoked(clientId, transaction)
      throw new Error('the activity entry could not be written')
    })
    await assert.rejects(failing, /activity entry/)
    assert.equal(await statusOf(clientId), 'Active')
    await assertLive(clientId)
  })

  it('rejects when Postgres fails at the commit itself', async () => {
    const clientId = await stores.newClient()
    const failing = api.revocation.revoke({ kind: 'client', id: clientId }, async (transaction) => {
      const { rows } = await transaction.raw('select pg_backend_pid() as pid')
      // The statement after this one finds its connection gone.
      await stores.db.raw('select pg_terminate_backend(?)', [rows[0].pid])
    })
    await assert.rejects(failing)
    await assertLive(clientId)
  })

  describe('gives up before its commit', () => {
    const COMMIT_MS = 500
    const hasty = forBlock(() =>
      stores.start('api', {
        timings: { ...FAST, commit_ms: COMMIT_MS },
        // Nothing else ends its wait in time.
        statementTimeout_ms: 600_000,
      }),
    )

    for (const table of ['oauth_clients', 'revocation_trust'])
      it(`gives up before the commit when ${table} is locked, and changes nothing even once unlocked`, async () => {
        const clientId = await stores.newClient()
        {
          const lock = await lockTable(stores.db, table)
          await using _ = afterwards(() => lock.rollback())
          await assert.rejects(stores.revoke(hasty, clientId), isUnavailable)
          await eventually(() => hasty.db.client.pool.numUsed() === 0)
        }
        await sleep(COMMIT_MS)
        assert.equal(await statusOf(clientId), 'Active')
        assert.equal(await stores.asAdmin((redis) => redis.exists(redisKeys.revoked('client', clientId))), 0)
        assert.equal(await stores.revoke(hasty, clientId), true)
      })

    it('gives up before the commit when no connection is free', async () => {
      const clientId = await stores.newClient()
      const busy = await Promise.all(Array.from({ length: 5 }, () => hasty.db.transaction()))
      await assert.rejects(stores.revoke(hasty, clientId), isUnavailable)
      await Promise.all(busy.map((transaction) => transaction.rollback()))
      await sleep(COMMIT_MS)
      assert.equal(await statusOf(clientId), 'Active')
    })

    it('gives up before the commit when its own work takes too long', async () => {
      const clientId = await stores.newClient()
      const slow = hasty.revocation.revoke({ kind: 'client', id: clientId }, async (transaction) => {
        await stores.markRevoked(clientId, transaction)
        await sleep(COMMIT_MS + 100)
      })
      await assert.rejects(slow, isUnavailable)
      await eventually(() => hasty.db.client.pool.numUsed() === 0)
      assert.equal(await statusOf(clientId), 'Active')
    })

    it('never gives up a commit that has begun, however long it takes', async () => {
      const clientId = await stores.newClient()
      await stores.db.raw(`
        create function commit_slowly() returns trigger language plpgsql
          as $$ begin perform pg_sleep(${(COMMIT_MS + 100) / 1_000}); return null; end $$;
        create constraint trigger commit_slowly after update on oauth_clients deferrable initially deferred
          for each row execute function commit_slowly()`)
      await using _ = afterwards(() => stores.db.raw('drop function commit_slowly cascade'))
      assert.equal(await stores.revoke(hasty, clientId), true)
      for (const process of [auth, api, admin])
        assert.match(await process.ask({ clientId }), /^client revoked by /)
      // Its deadline is that of the transaction, not of the connection.
      const shown = await Promise.all([1, 2, 3, 4, 5].map(() => hasty.db.raw('show statement_timeout')))
      assert.deepEqual(new Set(shown.map(({ rows }) => rows[0].statement_timeout)), new Set(['10min']))
    })
  })

  describe('waits until no lease from before the commit is left', () => {
    const waits = async (because: string, prepare: () => Promise<unknown>) => {
      it(`waits out the leases when ${because}`, async () => {
        const clientId = await stores.newClient()
        await prepare()
        await revokeSlowly(clientId)
        for (const process of [auth, api, admin])
          assert.match(await process.ask({ clientId }), / revoked by /)
      })
    }

    waits('there is no marker', removeMarker)
    waits('the marker is of another server', async () => {
      await removeMarker()
      const marker = `${'0'.repeat(40)} 999999`
      await stores.asAdmin((redis) => redis.set(redisKeys.revocationMarker, marker, 'PX', 2_000))
    })
    waits('the marker is older than a lease', async () => {
      await stopMarking()
      await stores.asAdmin((redis) => redis.pexpire(redisKeys.revocationMarker, 60_000))
      await sleep(FAST.lease_ms)
    })
    waits('Postgres names another server', async () => {
      await stopMarking()
      await stores.db.raw("update revocation_trust set run_id = 'another', since = clock_timestamp()")
    })

    it('waits out the leases when Redis is down', async () => {
      const clientId = await stores.newClient()
      await stopMarking()
      await stores.server.stop('SIGKILL')
      {
        await using _ = afterwards(() => stores.server.start())
        await revokeSlowly(clientId)
        for (const process of [auth, api, admin])
          assert.equal(await process.ask({ clientId }), 'client revoked by postgres')
      }
      await api.untilTrusted()
      assert.equal(await api.ask({ clientId }), 'client revoked by redis')
    })

    it('waits from the commit, not from the call', async () => {
      await removeMarker()
      const clientId = await stores.newClient()
      const work = () => timed(sleep(FAST.settle_ms))
      const { result, took_ms } = await timed(api.revocation.revoke({ kind: 'client', id: clientId }, work))
      assert.ok(took_ms - result.took_ms >= FAST.settle_ms, `took ${took_ms} ms`)
    })

    it('reports the commit, with no connection in use, before it waits', async () => {
      await removeMarker()
      const clientId = await stores.newClient()
      const { promise: committed, resolve: onCommit } = Promise.withResolvers<void>()
      const entry = { kind: 'client', id: clientId } as const
      const commit = (transaction: Queryable) => stores.markRevoked(clientId, transaction)
      const revoking = timed(api.revocation.revoke(entry, commit, onCommit))
      await committed
      const since_ms = performance.now()
      assert.equal(await statusOf(clientId), 'Revoked')
      assert.equal(api.db.client.pool.numUsed(), 0)
      await revoking
      const waited_ms = Math.ceil(performance.now() - since_ms)
      assert.ok(waited_ms >= FAST.settle_ms - 100, `waited ${waited_ms} ms`)
    })
  })

  it('answers as soon as Redis can vouch, in a process just started', async () => {
    const clientId = await stores.newClient()
    await stores.revoke(await stores.start('api', { timings: PATIENT }), clientId)
    for (const process of [auth, api, admin])
      assert.equal(await process.ask({ clientId }), 'client revoked by redis')
  })
})
