import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { insertRevokedSigningKey, insertRevokedToken } from '#shared/revocation/state.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { createReconciler, type Step } from '../../apps/api/revocation/round.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { dump, FAST, newJti, restartFrom, sharedStores } from '../support/revocation.ts'
import { connectedDatabase, untilBlocked } from '../support/stores.ts'

/** What is looked at of a row that a round reads. */
type ReadRow = { tokens?: string[]; database?: Record<'place' | 'confirmedPlace', string> }

describe('a round of the reconciler', () => {
  const stores = sharedStores()
  const api = forBlock(() => stores.start('api', { step: (step) => atStep(step) }))
  let atStep: (step: Step) => Promise<void> | void

  beforeEach(async () => {
    atStep = () => {}
    for (const table of ['revoked_tokens', 'revoked_signing_keys', 'signing_keys', 'oauth_clients'])
      await stores.db.raw(`delete from ${table}`)
    // What Redis has seen of earlier tests does not count for a database that was confirmed later.
    await stores.db.raw('update revocation_trust set confirmed_at = clock_timestamp()')
  })

  const round = () => api.reconciler.round()
  const assertFails = async (reason: string) => assert.deepEqual(await round(), { outcome: 'failed', reason })
  /** Rounds until one has marked the server. */
  const marked = () =>
    eventually(async () => (await round()).outcome === 'marked', { every_ms: FAST.round_ms })
  /** Later than the last round is recent. */
  const nextRound = async () => {
    await sleep(FAST.round_ms)
    return round()
  }
  const marker = () => stores.asAdmin((redis) => redis.get(redisKeys.revocationMarker))
  const removeMarker = () => stores.asAdmin((redis) => redis.del(redisKeys.revocationMarker))
  const entry = (key: string) => stores.asAdmin((redis) => redis.pttl(key))
  const revokeInPostgres = async () => {
    const clientId = await stores.newClient()
    await stores.markRevoked(clientId)
    return clientId
  }
  const revokeKeyInPostgres = async () => {
    const kid = await stores.newKey()
    await insertRevokedSigningKey(stores.db, kid)
    return kid
  }
  const revokeTokenInPostgres = async (left_s: number, clientId: string) => {
    const [jti, expiresAt] = [newJti(), new Date(Date.now() + left_s * 1_000)]
    await insertRevokedToken(stores.db, { jti, clientId, expiresAt })
    return jti
  }
  const setPolicy = (policy: string) =>
    stores.asAdmin((redis) => redis.config('SET', 'maxmemory-policy', policy))
  const flush = () => stores.asAdmin((redis) => redis.flushall())
  /** Does something in the middle of each round from now on. */
  const inStep = (step: Step, act: () => Promise<unknown>) => {
    atStep = async (now) => void (now === step && (await act()))
  }
  const revokeThousands = () =>
    stores.db.raw(
      `insert into revoked_tokens select 'token-' || n, null, now(), now() + interval '900 s' from generate_series(1, 3001) n`,
    )

  /** The database of the process, with what happens between a statement and its answer. */
  const watched = (seen: (rows: ReadRow[], sql: string) => Promise<void> | void) =>
    ({
      async raw(sql: string, bindings: never) {
        const answer = await api.db.raw(sql, bindings)
        await seen(answer.rows, sql)
        return answer
      },
    }) as unknown as Database
  /** Has the server evict an entry, and end as if it never had. */
  const evict = () =>
    stores.asAdmin(async (redis) => {
      // Only the entry goes, and nothing but the count of evictions shows it.
      for (const nonce of await redis.keys(redisKeys.revocationNonce('*'))) await redis.persist(nonce)
      await redis.config('SET', 'maxmemory-policy', 'volatile-random')
      await redis.config('SET', 'maxmemory', '1')
      await redis.set('one', 'more').catch(() => {})
      await redis.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction')
    })

  /** A process whose clock moves only when the test says so, so that no round of another is recent to it. */
  function counting(options: Partial<Parameters<typeof createReconciler>[0]> = {}) {
    let now_ms = 0
    const { redis, db } = api
    const reconciler = createReconciler({ redis, db, timings: FAST, monotonic: () => now_ms, ...options })
    const run = async () => {
      await removeMarker()
      return reconciler.round()
    }
    const round = async () => (await run()).outcome
    const wait = (ms: number) => {
      now_ms += ms
    }
    async function trusts() {
      await round()
      wait(FAST.settle_ms)
      assert.equal(await round(), 'marked')
    }
    return { run, round, wait, trusts }
  }

  describe('trust', () => {
    beforeEach(async () => {
      await stores.db.raw("update revocation_trust set run_id = '', since = null")
      await flush()
    })

    it('names a new server in Postgres, waits, and only then marks it', async () => {
      const { round, wait } = counting()
      assert.equal(await round(), 'replaced')
      assert.equal(await round(), 'waiting')
      wait(FAST.settle_ms - 1)
      assert.equal(await round(), 'waiting')
      wait(1)
      assert.equal(await round(), 'marked')
      assert.notEqual(await marker(), null)
    })

    it('marks with a life of one lease from the beginning of the round', async () => {
      await api.untilTrusted()
      inStep('read', () => sleep(200))
      assert.equal((await nextRound()).outcome, 'marked')
      assert.ok((await entry(redisKeys.revocationMarker)) <= FAST.lease_ms - 200)
    })

    it('leaves it to another process that marked the server a moment ago, and not for longer', async () => {
      // A moment that is longer than any machine takes for a round.
      const moment_ms = 600_000
      const timings = { ...FAST, round_ms: moment_ms, lease_ms: moment_ms, settle_ms: 0 }
      const { redis, db } = api
      const [one, other] = [1, 2].map(() => createReconciler({ redis, db, timings }))
      const runRound = async (reconciler = one) => (await reconciler?.round())?.outcome
      assert.deepEqual([await runRound(one), await runRound(one)], ['replaced', 'marked'])
      assert.deepEqual([await runRound(other), await runRound(other)], ['waiting', 'fresh'])
      let shift_ms = 0
      const clock = { now: () => Date.now() + shift_ms }
      const astray = createReconciler({ redis, db, timings, clock })
      assert.deepEqual([await runRound(astray), await runRound(astray)], ['waiting', 'fresh'])
      shift_ms = 3_600_000
      assert.equal(await runRound(astray), 'clocks_apart', 'a fresh marker hid a wrong clock')
      await stores.asAdmin((redis) => redis.pexpire(redisKeys.revocationMarker, moment_ms / 10))
      assert.equal(await runRound(other), 'marked')
    })

    it('renews a marker that seems younger than it can be, as after the clock of Redis was set back', async () => {
      await api.untilTrusted()
      await stores.asAdmin((redis) => redis.pexpire(redisKeys.revocationMarker, 3_600_000))
      assert.equal((await round()).outcome, 'marked')
      assert.ok((await entry(redisKeys.revocationMarker)) <= FAST.lease_ms)
    })

    it('waits again in a process that has not itself seen how long the server is named', async () => {
      await counting().trusts()
      const late = counting()
      assert.equal(await late.round(), 'waiting')
      late.wait(FAST.settle_ms)
      assert.equal(await late.round(), 'marked')
    })

    it('waits from when the naming could be seen, however long its commit took', async () => {
      const { round, wait, trusts } = counting()
      await trusts()
      const naming = await stores.db.transaction()
      await naming.raw('update revocation_trust set since = clock_timestamp()')
      wait(FAST.settle_ms)
      await naming.commit()
      assert.equal(await round(), 'waiting')
    })

    it('waits from when its own naming was committed, however long that took', async () => {
      const { round, wait, trusts } = counting()
      await trusts()
      await stores.db.raw("update revocation_trust set run_id = 'another', since = clock_timestamp()")
      const inTheWay = await stores.db.transaction()
      await inTheWay.raw('select * from revocation_trust for update')
      const replacing = round()
      await untilBlocked(stores.db)
      wait(FAST.settle_ms)
      await inTheWay.rollback()
      assert.equal(await replacing, 'replaced')
      assert.equal(await round(), 'waiting')
    })

    it('counts its wait from the end of the read that found the name to the beginning of the latest', async () => {
      await api.untilTrusted()
      let reading_ms = 0
      const { round, wait } = counting({ db: watched(() => wait(reading_ms)) })
      const roundThatReadsFor = (duration_ms: number) => {
        reading_ms = duration_ms
        return round()
      }
      assert.equal(await roundThatReadsFor(FAST.settle_ms), 'waiting')
      assert.equal(await roundThatReadsFor(0), 'waiting')
      wait(FAST.settle_ms - 1)
      assert.equal(await roundThatReadsFor(1), 'waiting')
      assert.equal(await roundThatReadsFor(0), 'marked')
    })
  })

  describe('entries', () => {
    it('adds every client of the last day, every token not yet expired and every key, each with its full life', async () => {
      await stores.db.raw('alter table oauth_clients disable trigger oauth_client_only_revokes')
      const revokedAgo = async (minutes: number) => {
        const client_id = await revokeInPostgres()
        const revoked_at = new Date(Date.now() - minutes * 60_000)
        await stores.db('oauth_clients').where({ client_id }).update({ revoked_at })
        return client_id
      }
      const live = await stores.newClient()
      const oldKid = await revokeKeyInPostgres()
      await stores.db.raw("update revoked_signing_keys set revoked_at = now() - interval '61 days'")
      const there = [
        redisKeys.revoked('client', await revokeInPostgres()),
        redisKeys.revoked('client', await revokedAgo(24 * 60 - 1)),
        redisKeys.revoked('key', await revokeKeyInPostgres()),
        redisKeys.revoked('key', oldKid),
        redisKeys.revoked('token', await revokeTokenInPostgres(900, live)),
        // A verifier's clock may be behind.
        redisKeys.revoked('token', await revokeTokenInPostgres(-200, live)),
      ]
      const notThere = [
        redisKeys.revoked('client', live),
        redisKeys.revoked('client', await revokedAgo(24 * 60 + 1)),
        redisKeys.revoked('token', await revokeTokenInPostgres(-400, live)),
      ]
      await marked()
      for (const key of there) assert.ok((await entry(key)) > FAST.entry_ms - 60_000, key)
      for (const key of notThere) assert.equal(await entry(key), -2, key)
    })

    it('adds thousands of entries', async () => {
      await revokeThousands()
      await marked()
      const { length } = await stores.asAdmin((redis) => redis.keys('revoked:token:token-*'))
      assert.equal(length, 3_001)
    })

    it('leaves in Redis which was revoked last, of clients and keys', async () => {
      for (const revoke of [revokeInPostgres, revokeKeyInPostgres, revokeInPostgres]) {
        const id = await revoke()
        await removeMarker()
        await marked()
        const seen = await stores.asAdmin((redis) => redis.get(redisKeys.revocationSeen))
        assert.equal(seen?.split(' ').at(-1), id)
      }
    })

    it('sends only new entries while the server is known to have the others', async () => {
      await flush()
      await revokeInPostgres()
      await marked()
      assert.deepEqual(await nextRound(), { outcome: 'marked', entries: 1, added: 0 })
      await revokeInPostgres()
      assert.deepEqual(await nextRound(), { outcome: 'marked', entries: 2, added: 1 })
    })

    it('reads only tokens that it has not read before, even one that was stamped long before it was committed', async () => {
      const clientId = await stores.newClient()
      const read: string[][] = []
      const reading = watched(([row]) => {
        if (row?.tokens) read.push(row.tokens)
      })
      const { run, wait, trusts } = counting({ db: reading })
      const [early, late] = [await revokeTokenInPostgres(3_600, clientId), newJti()]
      const slow = await stores.db.transaction()
      const anHourAgo = `now() - interval '1 hour', now() + interval '1 hour'`
      await slow.raw(`insert into revoked_tokens values (?, ?, ${anHourAgo})`, [late, clientId])
      await trusts()
      assert.deepEqual(read.at(-1), [early])
      await slow.commit()
      assert.deepEqual(await run(), { outcome: 'marked', entries: 2, added: 1 })
      assert.ok((await entry(redisKeys.revoked('token', late))) > 0)
      let added = 0
      // Read again while an older transaction is open anywhere on the server, even of another test file.
      await eventually(async () => {
        const round = await run()
        // A round among so many may fail on a busy machine. The next adds both again.
        if (round.outcome === 'failed') {
          added = 2
          return false
        }
        assert.deepEqual(round, { outcome: 'marked', entries: 2, added })
        added = 0
        return !read.at(-1)?.includes(early)
      })
      wait(FAST.refill_ms)
      assert.deepEqual(await run(), { outcome: 'marked', entries: 2, added: 2 })
      assert.deepEqual(read.at(-1)?.toSorted(), [early, late].toSorted())
    })

    it('resends all entries to a server restarted from a mid-round dump', async () => {
      await marked()
      const clientId = await revokeInPostgres()
      let file = ''
      atStep = async (step) => {
        if (step === 'read') file = await dump(stores.server)
      }
      assert.equal((await nextRound()).outcome, 'marked')
      atStep = () => {}
      await restartFrom(stores.server, file)
      await eventually(() => api.redis.status === 'ready')
      assert.equal(await entry(redisKeys.revoked('client', clientId)), -2)
      await marked()
      assert.ok((await entry(redisKeys.revoked('client', clientId))) > 0)
    })

    it('resends all entries after clocks were apart, since that of Redis may have ended some', async () => {
      await revokeInPostgres()
      let ahead_ms = 0
      const { run, trusts } = counting({ clock: { now: () => Date.now() + ahead_ms } })
      await marked()
      await trusts()
      assert.deepEqual(await run(), { outcome: 'marked', entries: 1, added: 0 })
      ahead_ms = 3_600_000
      assert.equal((await run()).outcome, 'clocks_apart')
      ahead_ms = 0
      assert.deepEqual(await run(), { outcome: 'marked', entries: 1, added: 1 })
    })

    it('resends all entries after a flush, a failed round, a fence, or an eviction', async () => {
      await revokeInPostgres()
      await marked()
      const failure = async () => {
        atStep = () => Promise.reject(new Error('lost'))
        await assertFails('lost')
        atStep = () => {}
      }
      // Behind the fence the database may have been replaced by another of the same place.
      const fence = async () => {
        await stores.db.raw(`insert into restore_fences (reason) values ('an operator')`)
        assert.deepEqual(await round(), { outcome: 'fenced', reason: 'an operator' })
        await stores.db.raw('delete from restore_fences')
      }
      for (const event of [flush, failure, fence, evict]) {
        await sleep(FAST.round_ms)
        await event()
        assert.deepEqual(await round(), { outcome: 'marked', entries: 1, added: 1 }, event.name)
      }
    })
  })

  describe('what happens in the middle', () => {
    const restart = async () => {
      await stores.asAdmin((redis) => redis.save())
      await stores.server.stop('SIGKILL')
      await stores.server.start()
      await eventually(() => api.redis.status === 'ready')
    }
    const evictOther = async () => {
      await stores.asAdmin((redis) => redis.set('victim', '1', 'PX', 60_000))
      await evict()
    }
    for (const [what, step, act, reason] of [
      ['was flushed', 'begin', flush, 'the server was flushed'],
      ['was flushed', 'read', flush, 'the server was flushed'],
      ['was flushed', 'add', flush, 'the server was flushed'],
      ['got another policy', 'add', () => setPolicy('allkeys-lru'), 'the eviction policy is allkeys-lru'],
      ['evicted under a policy that was put right again', 'add', evictOther, 'keys were evicted'],
      ['was restored from a dump with its nonce', 'add', restart, 'another server answers'],
    ] as const)
      it(`does not mark a server that ${what} after "${step}"`, async () => {
        await revokeInPostgres()
        await marked()
        await removeMarker()
        inStep(step, act)
        await using _ = afterwards(() => setPolicy('noeviction'))
        await assertFails(reason)
        assert.equal(await marker(), null)
      })

    it('leaves no belief behind when the round took longer than its lease', async () => {
      const clientId = await stores.newClient()
      await marked()
      inStep('read', () => sleep(FAST.lease_ms + FAST.tick_ms))
      assert.equal((await nextRound()).outcome, 'marked')
      assert.equal(await api.ask({ clientId }), 'live by postgres')
    })
  })

  describe('after a standby was promoted', () => {
    beforeEach(async () => {
      await flush()
      await marked()
    })
    afterEach(async () => {
      await stores.db.raw('delete from restore_fences')
      await stores.db.raw('update revocation_trust set place = database_place()')
    })

    /** Revoked by a call that was answered, and not replicated. */
    const lost = {
      async client() {
        const clientId = await stores.newClient()
        await stores.revoke(api, clientId)
        await stores.db.transaction(async (transaction) => {
          await transaction.raw('set local session_replication_role = replica')
          await transaction.raw(
            `update oauth_clients set status = 'Active', revoked_at = null where client_id = ?`,
            [clientId],
          )
        })
        return clientId
      },
      async key() {
        const kid = await stores.newKey()
        await stores.asAdmin((redis) => redis.set(redisKeys.revoked('key', kid), '1', 'PX', FAST.entry_ms))
        return kid
      },
    }

    for (const [kind, lose] of Object.entries(lost))
      it(`lets nobody in if Redis holds the revocation of a ${kind} that it has forgotten`, async () => {
        const reason = `the database has forgotten the revocation of ${await lose()}`
        await stores.promote()
        assert.deepEqual(await nextRound(), { outcome: 'fenced', reason })
        const fences = await stores.db('restore_fences').select('reason', 'lowered_at')
        assert.deepEqual(fences, [{ reason, lowered_at: null }])
        assert.equal(await stores.isFollowed(), false)
      })

    /** More than one script looks at. */
    const tokensInRedis = () => {
      const jtis = Array.from({ length: 3_001 }, newJti)
      const entries = jtis.flatMap((jti) => [redisKeys.revoked('token', jti), '1'])
      return stores.asAdmin((redis) => redis.mset(entries)).then(() => jtis)
    }

    it('revokes every token again that only Redis still knows to be revoked, for as long as it can live', async () => {
      const clientId = await stores.newClient()
      const [jti = '', ...others] = await tokensInRedis()
      await stores.promote()
      assert.equal((await nextRound()).outcome, 'marked')
      const lasting = stores.db('revoked_tokens').whereRaw(`expires_at > now() + interval '900 s'`)
      assert.equal((await lasting).length, others.length + 1)
      await flush()
      assert.equal(await api.ask({ clientId, jti }), 'token revoked by postgres')
      assert.equal(await api.ask({ clientId, jti: newJti() }), 'live by postgres')
    })

    it('accepts a promoted standby that knows all that Redis holds', async () => {
      await revokeInPostgres()
      await revokeKeyInPostgres()
      await revokeThousands()
      await sleep(FAST.round_ms)
      await marked()
      await stores.asAdmin((redis) => redis.set('revoked:else:x', '1'))
      await stores.promote()
      assert.equal((await nextRound()).outcome, 'marked')
      assert.equal(await stores.isFollowed(), true)
    })

    it('does not accept a standby if Redis was flushed during the comparison', async () => {
      await stores.promote()
      inStep('read', flush)
      await sleep(FAST.round_ms)
      await assertFails('the server was flushed')
      assert.equal(await stores.isFollowed(), false)
    })

    it('does not accept a standby if Redis was restarted from a dump during the comparison', async () => {
      await tokensInRedis()
      await stores.promote()
      let restarted = false
      const restarting = watched(async (_, sql) => {
        if (!sql.includes('unnest') || restarted) return
        restarted = true
        await restartFrom(stores.server, await dump(stores.server))
        await eventually(() => api.redis.status === 'ready')
      })
      const reconciler = createReconciler({ redis: api.redis, db: restarting, timings: FAST })
      assert.deepEqual(await reconciler.round(), { outcome: 'failed', reason: 'another server answers' })
      assert.equal(await stores.isFollowed(), false)
    })

    for (const [when, options, reason] of [
      ['comparing takes too long', { timings: { ...FAST, compare_ms: 0 } }, 'comparing Redis took too long'],
      ['the process ends meanwhile', { timings: FAST, stopping: AbortSignal.abort() }, 'the process ends'],
    ] as const)
      it(`does not accept a standby if ${when}`, async () => {
        const { redis, db } = api
        const reconciler = createReconciler({ redis, db, ...options })
        await stores.promote()
        await sleep(FAST.round_ms)
        assert.deepEqual(await reconciler.round(), { outcome: 'failed', reason })
        assert.equal(await stores.isFollowed(), false)
      })

    it('reads every token again, also in a process that another was ahead of: transaction ids went back', async () => {
      const clientId = await stores.newClient()
      const jti = await revokeTokenInPostgres(900, clientId)
      let promoted = false
      let read: string[] = []
      const reading = watched(([row]) => {
        if (row?.tokens) read = row.tokens
        if (row?.database && !promoted)
          row.database.place = row.database.confirmedPlace = row.database.place.replace(/\w+$/, '00000000')
      })
      const reconciler = createReconciler({ redis: api.redis, db: reading, timings: FAST })
      const readsOnlyWhatIsNew = async () =>
        (await reconciler.round()).outcome === 'marked' && read.length === 0
      await eventually(readsOnlyWhatIsNew, { every_ms: FAST.round_ms })
      promoted = true
      await sleep(FAST.round_ms)
      assert.equal((await reconciler.round()).outcome, 'marked')
      assert.deepEqual(read, [jti])
    })
  })

  describe('what Redis and Postgres must be', () => {
    it('does not trust a server that evicts', async () => {
      await setPolicy('volatile-ttl')
      await using _ = afterwards(() => setPolicy('noeviction'))
      await assertFails('the eviction policy is volatile-ttl, not noeviction')
    })

    it('does not trust a server that is full', async () => {
      const clientId = await stores.newClient()
      await marked()
      await stores.asAdmin((redis) => redis.config('SET', 'maxmemory', '1'))
      await using _ = afterwards(() => stores.asAdmin((redis) => redis.config('SET', 'maxmemory', '0')))
      const full = await round()
      assert.ok(full.outcome === 'failed' && full.reason.startsWith('OOM '), JSON.stringify(full))
      assert.equal(await api.ask({ clientId }), 'live by postgres')
    })

    it('fails without Postgres, and tells no more than its code', async () => {
      await using lost = connectedDatabase('postgres://integration_api:secret@127.0.0.1:1/none')
      const reconciler = createReconciler({ redis: api.redis, db: lost, timings: FAST })
      assert.deepEqual(await reconciler.round(), { outcome: 'failed', reason: 'Postgres: ECONNREFUSED' })
    })
  })
})
