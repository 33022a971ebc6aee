import assert from 'node:assert/strict'
import { createRevocation, type Revocation } from '#shared/revocation/revocation.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { revokeArmed } from '../../apps/api/clients/armed-revocations.ts'
import { listArmed } from '../../apps/api/clients/arming.ts'
import { freshOwner, sharedApi, TEST_TIMINGS } from '../support/api.ts'
import { forBlock } from '../support/block.ts'
import { notedUsage } from '../support/client-usage.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'

const PATH = '/v1/vendor/{vendor_id}/oauth-clients/{client_id}/rotation'
/** The old client's last use, and when a week without use ends: five minutes later, for uses that are not stored yet. */
const LAST_USE = '2025-09-14T02:00:10.000Z'
const WEEK_ENDS = '2025-09-21T02:05:10.000Z'

/** A client that got a token at 02:00 of three nights, seen at noon of the last day. */
describe('the rotation of a client', () => {
  const api = sharedApi()
  const noted = notedUsage(api)
  const redis = forBlock(() => api.redis.connect('api'))
  let revocation: Revocation
  before(() => {
    revocation = createRevocation({ redis, db: api.apiDb, timings: TEST_TIMINGS })
  })
  const owner = freshOwner(api)
  let old: string
  beforeEach(async () => {
    api.clock.set('2025-09-10T00:00:00Z')
    await api.db('client_rotation').delete()
    ;({ clientId: old } = await owner.createClient({ name: 'Warehouse' }))
    for (const night of ['2025-09-10', '2025-09-13', '2025-09-14']) {
      api.clock.set(`${night}T02:00:10Z`)
      await use(old)
    }
    api.clock.set('2025-09-14T12:00:00Z')
  })
  afterEach(async () => {
    await api.db('restore_fences').delete()
    await api.db('usage_writers').delete()
  })

  const use = (clientId: string, address = '192.0.2.1') => noted.issued(clientId, { address })
  const call = async (method: string, path: string, body?: unknown, userId = owner.userId) =>
    owner.request(method, path, {
      token: await api.createSession(userId),
      ...(body !== undefined && { body }),
    })
  const rotation = async (clientId = old) => (await call('GET', `oauth-clients/${clientId}/rotation`)).json
  const change = (body: unknown, clientId = old, userId = owner.userId) =>
    call('PATCH', `oauth-clients/${clientId}/rotation`, body, userId)
  const arm = (quietDays: number, userId = owner.userId) => change({ armed: { quietDays } }, old, userId)
  const replace = async (replaced = old): Promise<string> =>
    (await call('POST', 'oauth-clients', { name: 'Next', scopes: ['analytics:read'], replaces: replaced }))
      .json.clientId
  const revokeNow = (of: Partial<Parameters<typeof revokeArmed>[0]> = {}) =>
    revokeArmed({ db: api.apiDb, clock: api.clock, revocation, ...of })
  const entries = async () =>
    (await api.db('activity').where({ vendor_id: owner.vendorId, subject: old }).orderBy('entry_id')).map(
      ({ action, user_id, detail }) => [action, user_id, detail],
    )
  const ofOld = async () => (await call('GET', `oauth-clients/${old}`)).json

  /** Replaced, the replacement used, and armed for a week. */
  async function armedForAWeek(by = owner.userId): Promise<string> {
    const replacement = await replace()
    await use(replacement)
    assert.equal((await arm(7, by)).status, 200)
    return replacement
  }

  describe(`GET ${PATH}`, () => {
    it('answers what was seen of a client that nothing replaces', async () => {
      assert.deepEqual(await rotation(), {
        old: {
          clientId: old,
          status: 'Active',
          lastUsedAt: LAST_USE,
          longestQuietHours: 72,
          addresses: [{ address: '192.0.2.1', lastUsedAt: LAST_USE }],
        },
        replacement: null,
        refusedSinceRevoke: { count: 0, lastAt: null, addresses: [] },
        seenSince: '2025-09-10T00:00:00.000Z',
        armed: null,
      })
    })

    it('answers no longest time for a client that got one token, or none', async () => {
      const { clientId } = await owner.createClient()
      const { lastUsedAt, longestQuietHours, addresses } = (await rotation(clientId)).old
      assert.deepEqual([lastUsedAt, longestQuietHours, addresses], [null, null, []])
      await use(clientId)
      assert.equal((await rotation(clientId)).old.longestQuietHours, null)
      api.clock.advance(90_000)
      await use(clientId)
      assert.equal((await rotation(clientId)).old.longestQuietHours, 0.03)
    })

    it('lists every address with its last use, the latest first', async () => {
      api.clock.set('2025-09-14T03:00:00Z')
      await use(old, '198.51.100.7')
      assert.deepEqual((await rotation()).old.addresses, [
        { address: '198.51.100.7', lastUsedAt: '2025-09-14T03:00:00.000Z' },
        { address: '192.0.2.1', lastUsedAt: LAST_USE },
      ])
    })

    it('shows each pair of a chain as it was', async () => {
      const middle = await replace()
      assert.deepEqual((await rotation()).replacement, {
        clientId: middle,
        status: 'Active',
        firstUsedAt: null,
        lastUsedAt: null,
        addresses: [],
      })
      await use(middle, '192.0.2.9')
      const newest = await replace(middle)
      for (const client of [old, middle]) await call('POST', `oauth-clients/${client}/revoke`)
      const at = '2025-09-14T12:00:00.000Z'
      assert.deepEqual((await rotation()).replacement, {
        clientId: middle,
        status: 'Revoked',
        firstUsedAt: at,
        lastUsedAt: at,
        addresses: [{ address: '192.0.2.9', lastUsedAt: at }],
      })
      const second = await rotation(middle)
      assert.deepEqual([second.old.clientId, second.replacement.clientId], [middle, newest])
    })

    it('counts what was refused since it was revoked, from where, and when last', async () => {
      await replace()
      const refused = { clientId: old, vendorId: owner.vendorId, route: 'POST /v1/oauth/token', status: 401 }
      const byToken = { ...refused, code: 'invalid_token', reason: 'revoked', proven: true }
      const now_ms = Date.now()
      api.clock.set(now_ms - 60_000)
      await noted.answered({ ...byToken, requestId: 'of one token', address: '203.0.113.1' })
      api.clock.set(now_ms + 60_000)
      await call('POST', `oauth-clients/${old}/revoke`)
      const bySecret = { ...refused, code: 'invalid_client', reason: 'revoked_client', proven: true }
      const byStranger = { ...bySecret, reason: 'wrong_secret', proven: false }
      await noted.answered(
        { ...bySecret, requestId: 'a', address: '192.0.2.1' },
        { ...byToken, requestId: 'b', address: '192.0.2.1' },
        { ...byStranger, requestId: 'c', address: '198.51.100.1' },
      )
      assert.deepEqual((await rotation()).refusedSinceRevoke, {
        count: 2,
        lastAt: new Date(now_ms + 60_000).toISOString(),
        addresses: ['192.0.2.1'],
      })
    })

    it('answers 503 while the refusals cannot be read', async () => {
      await replace()
      await call('POST', `oauth-clients/${old}/revoke`)
      await api.redis.stop('SIGTERM')
      const answer = await call('GET', `oauth-clients/${old}/rotation`)
      await api.redis.start()
      await redisReady(redis)
      assertProblem(answer, 'unavailable')
    })
  })

  describe(`PATCH ${PATH}`, () => {
    it('arms, changes the days and disarms, each once in the activity', async () => {
      await use(await replace())
      const admin = await api.createPerson({ vendorId: owner.vendorId, role: 'admin' })
      for (const userId of [owner.userId, admin.userId])
        assert.deepEqual((await arm(7, userId)).json.armed, {
          quietDays: 7,
          revokesAt: WEEK_ENDS,
          postponed: null,
        })
      assert.equal((await arm(60, admin.userId)).json.armed.revokesAt, '2025-11-13T02:05:10.000Z')
      for (let times = 0; times < 2; times += 1)
        assert.equal((await change({ armed: null })).json.armed, null)
      assert.deepEqual(await entries(), [
        ['client.revocation_armed', owner.userId, { name: 'Warehouse', quietDays: 7 }],
        ['client.revocation_armed', admin.userId, { name: 'Warehouse', quietDays: 60 }],
        ['client.revocation_disarmed', owner.userId, { name: 'Warehouse' }],
      ])
    })

    it('arms nothing that has no Active replacement, and nothing revoked', async () => {
      assertInvalid(await arm(7), '/armed')
      const replacement = await replace()
      await call('POST', `oauth-clients/${replacement}/revoke`)
      assertInvalid(await arm(7), '/armed')
      await replace()
      await call('POST', `oauth-clients/${old}/revoke`)
      assertInvalid(await arm(7), '/armed')
      assert.deepEqual(
        (await entries()).map(([action]) => action),
        ['client.revoked'],
      )
    })

    for (const quietDays of [0, 61, 1.5, -7, '7', null])
      it(`refuses ${JSON.stringify(quietDays)} days`, async () => {
        assertInvalid(await change({ armed: { quietDays } }), '/armed/quietDays')
      })

    it('refuses what is no plan', async () => {
      assertInvalid(await change({}), '/armed')
      assertInvalid(await change({ armed: true }), '/armed')
      assertInvalid(await change({ armed: null, secretPutAway: true }), '/secretPutAway')
      assertInvalid(await change({ armed: { quietDays: 7, armedBy: 'usr_x' } }), '/armed/armedBy')
    })
  })

  describe('an armed revocation', () => {
    it('is carried out by the service after the days without use, and names who armed it', async () => {
      await armedForAWeek()
      api.clock.set('2025-09-21T02:05:09Z')
      assert.deepEqual(await revokeNow(), [])
      api.clock.set('2025-09-21T02:05:11Z')
      assert.deepEqual(await revokeNow(), [old])
      const { status, revokedBy } = await ofOld()
      assert.equal(status, 'Revoked')
      assert.deepEqual(revokedBy, { userId: null, name: `the service, armed by ${owner.name}` })
      const { name, userId: armedBy } = owner
      const why = { reason: 'armed', armedAt: '2025-09-14T12:00:00.000Z', quietDays: 7 }
      assert.deepEqual((await entries()).at(-1), [
        'client.revoked',
        null,
        { name: 'Warehouse', ...why, armedBy },
      ])
      const [entry] = (await call('GET', 'activity?action=client.revoked')).json.entries
      assert.deepEqual(entry.by, { userId: null, name: 'service' })
      assert.deepEqual(entry.detail, { name: 'Warehouse', ...why, armedBy: { userId: armedBy, name } })
      assert.equal((await rotation()).armed, null)
      assert.deepEqual(await revokeNow(), [])
    })

    it('counts the days from the last use, which may be long ago', async () => {
      const replacement = await replace()
      await use(replacement)
      api.clock.set('2025-09-30T12:00:00Z')
      assert.equal((await arm(7)).json.armed.revokesAt, WEEK_ENDS)
      assert.deepEqual(await revokeNow(), [old])
    })

    it('counts them from the creation of a client that was never used', async () => {
      const { clientId } = await owner.createClient({ createdAt: new Date('2025-09-01T00:00:00Z') })
      await use(await replace(clientId))
      const { armed } = (await change({ armed: { quietDays: 30 } }, clientId)).json
      assert.equal(armed.revokesAt, '2025-10-01T00:05:00.000Z')
    })

    it('begins again with each use', async () => {
      await armedForAWeek()
      api.clock.set('2025-09-20T02:00:10Z')
      await use(old)
      assert.equal((await rotation()).armed.revokesAt, '2025-09-27T02:05:10.000Z')
      api.clock.set('2025-09-27T02:05:09Z')
      assert.deepEqual(await revokeNow(), [])
    })

    it('waits until the replacement was used', async () => {
      const replacement = await replace()
      assert.deepEqual((await arm(7)).json.armed, {
        quietDays: 7,
        revokesAt: WEEK_ENDS,
        postponed: 'replacement_unused',
      })
      api.clock.set('2025-10-14T00:00:00Z')
      assert.deepEqual(await revokeNow(), [])
      await use(replacement)
      assert.deepEqual(await revokeNow(), [old])
    })

    for (const [what, loss] of [
      [
        'a process dropped them',
        `usage_writers (writer, batch, flushed_at, lost_at)
         values (gen_random_uuid(), 1, clock_timestamp(), '2025-09-20T02:00:10Z')`,
      ],
      [
        'the database was restored',
        `restore_fences (reason, raised_at, lowered_at)
         values ('test', '2025-09-20T01:00:00Z', '2025-09-20T02:00:10Z')`,
      ],
    ] as const)
      it(`is put off when uses may be missing because ${what}`, async () => {
        await armedForAWeek()
        await api.db.raw(`insert into ${loss}`)
        assert.equal((await ofOld()).usesMissingBefore, '2025-09-20T02:00:10.000Z')
        assert.deepEqual((await rotation()).armed, {
          quietDays: 7,
          revokesAt: '2025-09-27T02:05:10.000Z',
          postponed: 'uses_may_be_missing',
        })
        api.clock.set('2025-09-27T02:05:09Z')
        assert.deepEqual(await revokeNow(), [])
        api.clock.set('2025-09-27T02:05:11Z')
        const { replacedBy } = await ofOld()
        await use(replacedBy)
        assert.equal((await call('GET', `oauth-clients/${replacedBy}`)).json.usesMissingBefore, null)
        assert.deepEqual(await revokeNow(), [old])
      })

    it('is not carried out while a restore awaits its confirmation', async () => {
      await armedForAWeek()
      api.clock.set('2025-10-14T00:00:00Z')
      await api.db.raw(`insert into restore_fences (reason) values ('test')`)
      assert.deepEqual(await revokeNow(), [])
      await api.db('restore_fences').delete()
      assert.deepEqual(await revokeNow(), [old])
    })

    it('is looked at no more once a person revoked the client', async () => {
      await armedForAWeek()
      await call('POST', `oauth-clients/${old}/revoke`)
      assert.deepEqual(await listArmed(api.apiDb, 50), [])
    })

    it('is carried out once when several processes try', async () => {
      await armedForAWeek()
      api.clock.set('2025-10-14T00:00:00Z')
      const tried = await Promise.all([1, 2, 3].map(() => revokeNow()))
      assert.ok(tried.flat().length <= 1)
      await revokeNow()
      assert.equal((await entries()).filter(([action]) => action === 'client.revoked').length, 1)
    })

    for (const [what, disturb] of [
      ['the old client gets a token', () => use(old)],
      ['someone disarms it', () => change({ armed: null })],
      ['someone asks for more days', () => arm(60)],
    ] as const)
      it(`is not carried out when ${what} at the last moment`, async () => {
        await armedForAWeek()
        api.clock.set('2025-10-14T00:00:00Z')
        const late: Revocation = {
          ...revocation,
          async revoke(entry, commit) {
            await disturb()
            return revocation.revoke(entry, commit)
          },
        }
        assert.deepEqual(await revokeNow({ revocation: late }), [])
        assert.equal((await ofOld()).status, 'Active')
      })

    it('is not carried out by a clock that is ahead of the database', async () => {
      const replacement = await replace()
      await use(replacement)
      await arm(7)
      await api
        .db('client_usage')
        .where({ client_id: old })
        .update({ last_used_at: api.db.raw('now()') })
      api.clock.advance(Date.now() + 30 * 86_400_000 - api.clock.now())
      assert.deepEqual(await revokeNow(), [])
    })

    for (const [what, disturb, reason] of [
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
        'replacement_revoked',
      ],
    ] as const)
      it(`is disarmed when ${what}`, async () => {
        const { userId } = await api.createPerson({ vendorId: owner.vendorId, role: 'admin' })
        const replacement = await armedForAWeek(userId)
        await disturb(userId, replacement)
        assert.deepEqual(await revokeNow(), [])
        assert.equal((await ofOld()).status, 'Active')
        assert.deepEqual((await entries()).at(-1), [
          'client.revocation_disarmed',
          null,
          { name: 'Warehouse', reason },
        ])
        assert.equal((await rotation()).armed, null)
      })
  })
})
