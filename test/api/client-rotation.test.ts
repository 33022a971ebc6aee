import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import { createRevocation, type Revocation } from '#shared/revocation/revocation.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { createClientUsage } from '#shared/usage/client-usage.ts'
import { revokeArmed } from '../../apps/api/clients/armed-revocations.ts'
import { deleteOldUsage, drainUsage } from '../../apps/api/clients/usage.ts'
import { type ApiResponse, type Person, startApi, TEST_TIMINGS, type TestApi } from '../support/api.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'
import { connectedRedis } from '../support/redis.ts'

const NIGHTS = 14
const PATH = '/v1/vendor/{vendor_id}/oauth-clients/{client_id}/rotation'

/** A client that got a token at 02:00 of 14 nights, replaced at noon of the last day. */
describe('the rotation of a client', () => {
  let api: TestApi
  let db: Database
  let redis: Redis
  let authRedis: Redis
  let revocation: Revocation
  let vendorId: string
  let owner: Person
  let old: string
  before(async () => {
    api = await startApi()
    db = createPostgres({ url: api.database.apiUrl, poolSize: 4, applicationName: 'test' })
    redis = await connectedRedis(api.redis.url('api'))
    authRedis = await connectedRedis(api.redis.url('auth'))
    revocation = createRevocation({ redis, db, timings: TEST_TIMINGS })
  })
  beforeEach(async () => {
    api.clock.set('2025-09-01T00:00:00Z')
    await api.db('client_rotation').delete()
    ;({ vendorId } = await api.createCompany())
    owner = await api.createPerson({ vendorId })
    ;({ clientId: old } = await api.createClient({ vendorId, name: 'Warehouse' }))
    for (let day = 1; day <= NIGHTS; day += 1) {
      api.clock.set(`2025-09-${String(day).padStart(2, '0')}T02:00:10Z`)
      await use(old)
      await drainUsage({ redis, db })
    }
    api.clock.set('2025-09-14T12:00:00Z')
  })
  after(async () => {
    redis.disconnect()
    authRedis.disconnect()
    await db.destroy()
    await api.stop()
  })

  const use = async (clientId: string, address = '192.0.2.1') => {
    const counter = createClientUsage({ redis: authRedis, clock: api.clock })
    counter.issued(clientId, 'analytics:read', address)
    await counter.flush()
  }
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    userId = owner.userId,
  ): Promise<ApiResponse> =>
    api.request(method, `/v1/vendor/${vendorId}/${path}`, {
      token: await api.createSession(userId),
      ...(body !== undefined && { body }),
    })
  const rotation = async (clientId = old) => (await call('GET', `oauth-clients/${clientId}/rotation`)).json
  const change = (body: unknown, clientId = old, userId = owner.userId) =>
    call('PATCH', `oauth-clients/${clientId}/rotation`, body, userId)
  const replace = async (): Promise<string> =>
    (await call('POST', 'oauth-clients', { name: 'Next', scopes: ['analytics:read'], replaces: old })).json
      .clientId
  const revokeNow = (of: Partial<Parameters<typeof revokeArmed>[0]> = {}) =>
    revokeArmed({ db, redis, clock: api.clock, revocation, ...of })
  const entries = async () =>
    (await api.db('activity').where({ vendor_id: vendorId, subject: old }).orderBy('entry_id')).map(
      ({ action, user_id, detail }) => [action, user_id, detail.reason ?? null],
    )
  const ofOld = async () => (await call('GET', `oauth-clients/${old}`)).json

  /** Replaced, armed, and the replacement used at the next 02:00. From 08:00 on it is safe. */
  async function armedUntilSafe(by = owner.userId): Promise<string> {
    const replacement = await replace()
    assert.equal((await change({ armed: true, secretPutAway: true }, old, by)).status, 200)
    api.clock.set('2025-09-15T02:00:10Z')
    await use(replacement)
    await drainUsage({ redis, db })
    api.clock.set('2025-09-15T08:01:00Z')
    return replacement
  }

  describe(`GET ${PATH}`, () => {
    it('says what would fail, also for a client that nothing replaces', async () => {
      const answer = await rotation()
      assert.deepEqual(answer, {
        replacementId: null,
        state: 'no_replacement',
        evidenceSince: '2025-09-01T02:00:00.000Z',
        lastUsedAt: '2025-09-14T02:00:10.000Z',
        longestGapSeconds: 86_400,
        expectedNextUseAt: '2025-09-15T02:00:10.000Z',
        safeFrom: '2025-09-15T08:00:10.000Z',
        secretPutAwayAt: null,
        addresses: [{ address: '192.0.2.1', lastUsedAt: '2025-09-14T02:00:10.000Z', move: 'not_yet' }],
        refusedSinceRevoke: 0,
        refusedAddresses: [],
        ifRevokedNow: { addresses: 1, tokensAnHour: 0.04 },
        armed: null,
      })
    })

    it('waits until the night has passed and a quarter more, and says which address has moved', async () => {
      const replacement = await replace()
      await change({ secretPutAway: true })
      assert.equal((await rotation()).state, 'not_deployed')
      api.clock.set('2025-09-14T12:10:00Z')
      await use(replacement, '198.51.100.7')
      assert.equal((await rotation()).state, 'trial')
      api.clock.set('2025-09-15T02:00:10Z')
      await use(replacement)
      assert.equal((await rotation()).state, 'waiting')
      api.clock.set('2025-09-15T08:01:00Z')
      const { state, addresses, ifRevokedNow } = await rotation()
      assert.equal(state, 'safe')
      assert.equal(addresses[0].move, 'moved')
      assert.deepEqual(ifRevokedNow, { addresses: 0, tokensAnHour: 0 })
    })

    it('counts a use that is still pending in Redis, and the same use once it is stored', async () => {
      api.clock.set('2025-09-16T02:00:10Z')
      await use(old)
      const pending = await rotation()
      assert.equal(pending.longestGapSeconds, 2 * 86_400)
      assert.equal(pending.lastUsedAt, '2025-09-16T02:00:10.000Z')
      await drainUsage({ redis, db })
      assert.deepEqual(await rotation(), pending)
    })

    it('names the addresses that were refused since it was revoked', async () => {
      await replace()
      await call('POST', `oauth-clients/${old}/revoke`)
      const counter = createClientUsage({ redis: authRedis, clock: api.clock })
      for (const [requestId, reason, address] of [
        ['a', 'revoked_client', '192.0.2.1'],
        ['b', 'revoked_client', '192.0.2.1'],
        ['c', 'wrong_secret', '198.51.100.1'],
      ] as const)
        counter.answered({
          ...{ clientId: old, vendorId, proven: reason !== 'wrong_secret', requestId, reason, address },
          ...{ route: 'POST /v1/oauth/token', status: 401, code: 'invalid_client' },
        })
      await counter.flush()
      const { state, refusedSinceRevoke, refusedAddresses, addresses } = await rotation()
      assert.equal(state, 'refused')
      assert.deepEqual([refusedSinceRevoke, refusedAddresses], [2, ['192.0.2.1']])
      assert.deepEqual([addresses[0].address, addresses[0].move], ['192.0.2.1', 'not_yet'])
    })

    it("answers 404 to another company's client, and 403 to a plain member", async () => {
      const other = await api.createCompany()
      const theirs = await api.createClient({ vendorId: other.vendorId })
      for (const id of [theirs.clientId, `cli_${'a'.repeat(22)}`, 'x'])
        for (const response of [await call('GET', `oauth-clients/${id}/rotation`), await change({}, id)])
          assertProblem(response, 'not_found')
      const { userId } = await api.createPerson({ vendorId, role: 'member' })
      assertProblem(await change({ armed: true }, old, userId), 'forbidden')
    })
  })

  describe(`PATCH ${PATH}`, () => {
    it('keeps when the secret was first put away', async () => {
      await replace()
      assert.equal((await change({ secretPutAway: true })).json.secretPutAwayAt, '2025-09-14T12:00:00.000Z')
      api.clock.advance(60_000)
      assert.equal((await change({ secretPutAway: true })).json.secretPutAwayAt, '2025-09-14T12:00:00.000Z')
    })

    it('arms and disarms for everyone of the company, each once in the activity', async () => {
      await replace()
      const admin = await api.createPerson({ vendorId, role: 'admin' })
      for (const userId of [owner.userId, admin.userId])
        assert.deepEqual((await change({ armed: true }, old, userId)).json.armed, {
          at: '2025-09-14T12:00:00.000Z',
          by: { userId: owner.userId, name: owner.name },
        })
      for (let times = 0; times < 2; times += 1)
        assert.equal((await change({ armed: false }, old, admin.userId)).json.armed, null)
      assert.deepEqual(await entries(), [
        ['client.revocation_armed', owner.userId, null],
        ['client.revocation_disarmed', admin.userId, null],
      ])
    })

    it('arms nothing that has no Active replacement', async () => {
      assertInvalid(await change({ armed: true }), '/armed')
      assertInvalid(await change({ secretPutAway: true }), '/secretPutAway')
      const replacement = await replace()
      await call('POST', `oauth-clients/${replacement}/revoke`)
      assertInvalid(await change({ armed: true }), '/armed')
      assert.deepEqual(await entries(), [])
    })

    it('refuses what is no plan', async () => {
      assertInvalid(await change({ armed: 'yes' }), '/armed')
      assertInvalid(await change({ secretPutAway: false }), '/secretPutAway')
      assertInvalid(await change({ armedBy: 'usr_x' }), '/armedBy')
    })
  })

  describe('an armed revocation', () => {
    it('is carried out once it is safe, for the person who armed it', async () => {
      await armedUntilSafe()
      assert.deepEqual(await revokeNow(), [old])
      const { status, revokedBy } = await ofOld()
      assert.equal(status, 'Revoked')
      assert.deepEqual(revokedBy, { userId: owner.userId, name: owner.name })
      assert.deepEqual(await entries(), [
        ['client.revocation_armed', owner.userId, null],
        ['client.revoked', owner.userId, null],
      ])
      assert.equal((await rotation()).armed, null)
      assert.deepEqual(await revokeNow(), [])
    })

    it('is carried out once when several processes try', async () => {
      await armedUntilSafe()
      const tried = await Promise.all([1, 2, 3].map(() => revokeNow()))
      assert.ok(tried.flat().length <= 1)
      await revokeNow()
      assert.equal((await entries()).filter(([action]) => action === 'client.revoked').length, 1)
    })

    it('is not carried out when the old client gets a token at the last moment', async () => {
      await armedUntilSafe()
      const late: Revocation = {
        ...revocation,
        async revoke(entry, commit) {
          await use(old)
          return revocation.revoke(entry, commit)
        },
      }
      assert.deepEqual(await revokeNow({ revocation: late }), [])
      assert.equal((await ofOld()).status, 'Active')
      await drainUsage({ redis, db })
    })

    it('waits until the quarter has passed', async () => {
      await armedUntilSafe()
      api.clock.set('2025-09-15T07:59:00Z')
      assert.deepEqual(await revokeNow(), [])
      assert.equal((await ofOld()).status, 'Active')
    })

    for (const [what, disturb, why] of [
      ['the old client got a token, even one still in Redis', () => use(old), 'used'],
      [
        'the person who armed it was suspended',
        (userId: string) => api.db('memberships').where({ user_id: userId }).update({ status: 'suspended' }),
        'person_left',
      ],
      [
        'the person who armed it became a plain member',
        (userId: string) => api.db('memberships').where({ user_id: userId }).update({ role: 'member' }),
        'person_left',
      ],
      [
        'the person who armed it left the company',
        (userId: string) => api.db('memberships').where({ user_id: userId }).delete(),
        'person_left',
      ],
      [
        'the replacement was revoked',
        (_: string, replacement: string) => call('POST', `oauth-clients/${replacement}/revoke`),
        'no_replacement',
      ],
    ] as const)
      it(`is disarmed when ${what}`, async () => {
        const { userId } = await api.createPerson({ vendorId, role: 'admin' })
        const replacement = await armedUntilSafe(userId)
        await disturb(userId, replacement)
        assert.deepEqual(await revokeNow(), [])
        assert.equal((await ofOld()).status, 'Active')
        assert.deepEqual((await entries()).at(-1), ['client.revocation_disarmed', null, why])
        assert.equal((await rotation()).armed, null)
        await drainUsage({ redis, db })
      })

    it('is disarmed when the database was restored since', async () => {
      await armedUntilSafe()
      await api.db.raw(
        `insert into restore_fences (reason, raised_at, lowered_at) values ('test', '2025-09-14T13:00Z', '2025-09-14T14:00Z')`,
      )
      assert.deepEqual(await revokeNow(), [])
      assert.deepEqual((await entries()).at(-1), ['client.revocation_disarmed', null, 'database_restored'])
      await api.db('restore_fences').delete()
    })

    it('is not carried out while a restore awaits its confirmation', async () => {
      await armedUntilSafe()
      await api.db.raw(`insert into restore_fences (reason) values ('test')`)
      assert.deepEqual(await revokeNow(), [])
      await api.db('restore_fences').delete()
      assert.deepEqual(await revokeNow(), [old])
    })

    it('is not carried out by a clock that is ahead of the database', async () => {
      await armedUntilSafe()
      // A day or two ahead of the database, where it is safe by the process's clock.
      const days = Math.floor((Date.now() - api.clock.now()) / 86_400_000) + 2
      for (const [table, columns] of [
        ['client_usage', ['first_used_at', 'last_used_at']],
        ['client_usage_hourly', ['hour']],
        ['client_usage_daily', ['first_used_at', 'last_used_at']],
        ['client_address_usage', ['first_seen_at', 'last_seen_at']],
        ['client_rotation', ['armed_at', 'secret_put_away_at']],
      ] as const)
        await api.db.raw(
          `update ${table} set ${columns.map((column) => `${column} = ${column} + interval '${days} days'`).join(', ')}`,
        )
      await api.db.raw(`update client_usage_daily set day = first_used_at::date`)
      api.clock.advance(days * 86_400_000)
      assert.equal((await rotation()).state, 'safe')
      assert.deepEqual(await revokeNow(), [])
      assert.equal((await ofOld()).status, 'Active')
    })

    it('is not carried out while usage is being moved', async () => {
      await armedUntilSafe()
      await api.db.transaction(async (transaction) => {
        await transaction.raw(`select pg_advisory_xact_lock(hashtext('client_usage'))`)
        assert.deepEqual(await revokeNow(), [])
      })
      assert.deepEqual(await revokeNow(), [old])
    })

    it('is not carried out while Redis is away', async () => {
      await armedUntilSafe()
      await api.redis.stop('SIGTERM')
      const { state, expectedNextUseAt, addresses } = await rotation()
      assert.deepEqual([state, expectedNextUseAt, addresses[0].move], ['unknown', null, 'unknown'])
      assert.deepEqual(await revokeNow(), [])
      assert.equal((await ofOld()).status, 'Active')
      await api.redis.start()
      await Promise.all([redisReady(redis), redisReady(authRedis)])
      assert.deepEqual(await revokeNow(), [old])
    })
  })

  it('removes days of use after 100 days', async () => {
    assert.ok((await api.db('client_usage_daily').where({ client_id: old })).length === NIGHTS)
    const now = Date.parse('2025-12-18T00:00:00Z')
    await deleteOldUsage(db, { now, limit: 1_000 })
    const [first] = await api.db('client_usage_daily').where({ client_id: old }).orderBy('day')
    assert.equal(first.first_used_at.toISOString(), '2025-09-08T02:00:00.000Z')
  })
})
