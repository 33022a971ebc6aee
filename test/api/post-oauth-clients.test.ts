import assert from 'node:assert/strict'
import type { Knex } from 'knex'
import { hashSecret } from '#shared/oauth/ids.ts'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { freshOwner, sharedApi, startApi, type TestApi, type TestPerson } from '../support/api.ts'
import { assertInvalid, assertProblem, assertStatuses } from '../support/problem.ts'
import { untilBlocked } from '../support/stores.ts'

const VALID = { name: 'Warehouse', scopes: ['analytics:read'] }
const OTHER = { ...VALID, name: 'Other' }

describe('POST /v1/vendor/{vendor_id}/oauth-clients', () => {
  const api = sharedApi()
  const second = sharedApi({ beside: api })
  const owner = freshOwner(api)

  const create = (
    body: unknown = VALID,
    { key, person = owner, at = api }: { key?: string; person?: TestPerson; at?: TestApi } = {},
  ) => {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
    return person.request('POST', 'oauth-clients', { body, headers, at })
  }
  const stored = () => api.db('oauth_clients').where({ vendor_id: owner.vendorId })
  const activity = () => api.db('activity').where({ vendor_id: owner.vendorId })

  it('stores only the hash of the secret, and never shows the secret again', async () => {
    const { json } = await create()
    const [row] = await stored()
    assert.deepEqual(row.secret_hash, hashSecret(json.clientSecret))
    const { rows } = await api.db.raw(
      'select (select json_agg(c) from oauth_clients c)::text || (select json_agg(a) from activity a)::text as all',
    )
    assert.equal(rows[0].all.includes(json.clientSecret), false)
    for (const path of ['', `/${json.clientId}`]) {
      const { text } = await owner.request('GET', `oauth-clients${path}`)
      for (const hidden of [json.clientSecret, 'clientSecret']) assert.ok(!text.includes(hidden))
    }
  })

  describe('the 100 Active clients that a company may have', () => {
    const fill = (count: number) =>
      api.db.raw(
        `insert into oauth_clients (client_id, vendor_id, name, scopes, secret_hash)
         select 'cli_' || substr(md5(random()::text), 1, 22), ?, 'n', '{analytics:read}', sha256('x')
         from generate_series(1, ?)`,
        [owner.vendorId, count],
      )

    it('allows 100 Active clients, even for twenty requests at once at two processes', async () => {
      await fill(95)
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => create(VALID, { at: index % 2 ? api : second })),
      )
      const statuses = answers.map(({ status }) => status)
      assert.deepEqual(statuses.sort(), [...Array(5).fill(201), ...Array(15).fill(409)])
      assert.deepEqual([(await stored()).length, (await activity()).length], [100, 5])
      assertProblem(await create(), 'client_limit_reached')
    })

    it('counts neither revoked clients nor those of other companies', async () => {
      await fill(100)
      await api.db.raw(
        `update oauth_clients set status = 'Revoked', revoked_at = now()
         where client_id = (select client_id from oauth_clients where vendor_id = ? limit 1)`,
        [owner.vendorId],
      )
      assert.equal((await create()).status, 201)
      assertProblem(await create(), 'client_limit_reached')
      assert.equal((await create(VALID, { person: await api.createOwner() })).status, 201)
    })
  })

  describe('an Idempotency-Key', () => {
    it('answers a repeat 200 with the same client and no secret, at every process', async () => {
      const all = { ...VALID, scopes: SCOPES }
      const first = await create(all, { key: 'k1' })
      const again = await create({ ...all, scopes: SCOPES.toReversed() }, { key: 'k1' })
      const there = await create({ scopes: SCOPES, name: ' Warehouse' }, { key: 'k1', at: second })
      const { clientSecret, ...client } = first.json
      assert.equal(first.status, 201)
      assert.ok(clientSecret)
      assert.deepEqual(client.scopes, SCOPES)
      for (const { status, json } of [again, there])
        assert.deepEqual([status, json], [200, { ...client, clientSecret: null }])
      assert.deepEqual([(await stored()).length, (await activity()).length], [1, 1])
    })

    it('refuses another request, whatever differs', async () => {
      const [first, later] = [40, 41].map((days) => new Date(api.clock.now() + days * 86_400_000))
      assertStatuses([await create({ ...VALID, expiresAt: first }, { key: 'k1' })], 201)
      for (const other of [
        { name: 'Other' },
        { scopes: SCOPES },
        { expiresAt: later },
        { expiresAt: undefined },
      ]) {
        const refused = await create({ ...VALID, expiresAt: first, ...other }, { key: 'k1' })
        assertProblem(refused, 'idempotency_key_reused')
      }
    })

    it('can be used for another client after 24 hours, of which repeats then return that one', async () => {
      const first = await create(VALID, { key: 'k1' })
      api.clock.advance(24 * 3_600_000)
      owner.sessionToken = await api.createSession(owner.userId)
      const [other, repeat] = [await create(OTHER, { key: 'k1' }), await create(OTHER, { key: 'k1' })]
      assertStatuses([first, other, repeat], 201, 201, 200)
      assert.equal(repeat.json.clientId, other.json.clientId)
    })

    /** Locks what a creation waits for before it counts the clients of the company. */
    const lockActiveClients = (transaction: Knex.Transaction) =>
      transaction.raw(`select pg_advisory_xact_lock(hashtextextended('active clients of ' || ?, 0))`, [
        owner.vendorId,
      ])

    it('answers 409 while the first request is still running', async () => {
      const first = await api.db.transaction(async (transaction) => {
        await lockActiveClients(transaction)
        const running = create(VALID, { key: 'k1' })
        await untilBlocked(api.db)
        const meanwhile = await create(VALID, { key: 'k1' })
        assertProblem(meanwhile, 'idempotency_in_progress')
        assert.equal(meanwhile.headers.get('retry-after'), '1')
        return [running]
      })
      assert.equal((await first[0])?.status, 201)
      assert.equal((await create(VALID, { key: 'k1' })).status, 200)
    })

    it('keeps Idempotency-Keys separate by user and company', async () => {
      const admin = await api.createPerson({ vendorId: owner.vendorId, role: 'admin' })
      const both = await api.db.transaction(async (transaction) => {
        await lockActiveClients(transaction)
        const running = [owner, admin].map((person) => create(VALID, { key: 'k1', person }))
        await untilBlocked(api.db, 2)
        const { vendorId } = await api.createCompany()
        await api.db('memberships').insert({ vendor_id: vendorId, user_id: owner.userId, role: 'owner' })
        const path = `/v1/vendor/${vendorId}/oauth-clients`
        const request = { body: VALID, headers: { 'idempotency-key': 'k1' }, token: owner.sessionToken }
        assertStatuses([await api.request('POST', path, request)], 201)
        return running
      })
      assertStatuses(await Promise.all(both), 201, 201)
    })
  })

  it('answers 429 to a company that creates clients all day, and to no other', async () => {
    await using busy = await startApi({ beside: api, env: { RATE_CLIENT_CREATIONS_PER_COMPANY: '2/86400' } })
    // A mistake must not use up what a company has for a day.
    for (let time = 0; time < 3; time++)
      assertInvalid(await create({ ...VALID, scopes: [] }, { at: busy }), '/scopes')
    const admin = await api.createPerson({ vendorId: owner.vendorId, role: 'admin' })
    for (const person of [owner, admin]) assert.equal((await create(VALID, { at: busy, person })).status, 201)
    assertProblem(await create(VALID, { at: busy }), 'rate_limited')
    assert.equal((await stored()).length, 2)
    assert.equal((await create(VALID, { at: busy, person: await api.createOwner() })).status, 201)
  })
})
