import assert from 'node:assert/strict'
import { ROUND_TIMINGS } from '#shared/revocation/round-timings.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { type Person, startApi, type TestApi } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { assertProblem } from '../support/problem.ts'
import { asAdmin } from '../support/revocation.ts'

describe('POST /v1/vendor/{vendor_id}/oauth-clients/{client_id}/revoke', () => {
  let api: TestApi
  let second: TestApi
  let vendorId: string
  let clientId: string
  let owner: Person
  before(async () => {
    api = await startApi()
    second = await startApi({ beside: api })
  })
  beforeEach(async () => {
    ;({ vendorId } = await api.createCompany())
    ;({ clientId } = await api.createClient({ vendorId, name: 'Warehouse' }))
    owner = await api.createPerson({ vendorId })
  })
  after(async () => {
    await second.stop()
    await api.stop()
  })

  const revoke = (
    id = clientId,
    { at = api, person = owner, body }: { at?: TestApi; person?: Person; body?: unknown } = {},
  ) =>
    at.request('POST', `/v1/vendor/${vendorId}/oauth-clients/${id}/revoke`, {
      token: person.sessionToken,
      body,
    })
  const read = async (at: TestApi, token: string) =>
    at.request('GET', `/v1/analytics/${vendorId}/daily`, { token })
  const entries = () => api.db('activity').where({ vendor_id: vendorId })

  it('answers 200 with the client, now Revoked', async () => {
    const response = await revoke()
    assert.equal(response.status, 200)
    assert.equal(response.json.clientId, clientId)
    assert.equal(response.json.status, 'Revoked')
    assert.deepEqual(response.json.revokedBy, { userId: owner.userId, name: owner.name })
    assert.ok(Math.abs(Date.parse(response.json.revokedAt) - Date.now()) < 60_000)
    const get = await api.request('GET', `/v1/vendor/${vendorId}/oauth-clients/${clientId}`, {
      token: owner.sessionToken,
    })
    assert.deepEqual(get.json, response.json)
  })

  it('ends every token of the client, at every process, once it has answered', async () => {
    const tokens = await Promise.all([1, 2, 3].map(() => api.issuer.token({ clientId, vendorId })))
    const other = await api.createClient({ vendorId })
    const others = await api.issuer.token({ clientId: other.clientId, vendorId })
    for (const token of tokens) {
      assert.equal((await read(api, token)).status, 200)
      assert.equal((await read(second, token)).status, 200)
    }
    assert.equal((await revoke()).status, 200)
    for (const token of [...tokens, await api.issuer.token({ clientId, vendorId })]) {
      assertProblem(await read(api, token), 'invalid_token')
      assertProblem(await read(second, token), 'invalid_token')
    }
    assert.equal((await read(second, others)).status, 200)
  })

  it('refuses every read that began after the answer, while readers hammer', async () => {
    // Otherwise Postgres decides, which has it from the commit.
    const vouched = () => asAdmin(api.redis, (redis) => redis.exists(redisKeys.revocationMarker))
    await eventually(async () => (await vouched()) === 1)
    const token = await api.issuer.token({ clientId, vendorId })
    let answered = false
    const late: number[] = []
    const reader = async (at: TestApi) => {
      while (!answered) await read(at, token)
      for (let round = 0; round < 15; round += 1) late.push((await read(at, token)).status)
    }
    const readers = [reader(api), reader(second), reader(api), reader(second)]
    await revoke()
    answered = true
    await Promise.all(readers)
    assert.deepEqual(
      late,
      late.map(() => 401),
    )
  })

  it('answers the same again, and leaves one activity entry', async () => {
    const first = await revoke()
    api.clock.advance(5_000)
    const admin = await api.createPerson({ vendorId, role: 'admin' })
    const again = await revoke(clientId, { at: second, person: admin })
    assert.equal(again.status, 200)
    assert.deepEqual(again.json, first.json)
    const [entry, ...more] = await entries()
    assert.deepEqual(more, [])
    assert.equal(entry.action, 'client.revoked')
    assert.equal(entry.subject, clientId)
    assert.equal(entry.user_id, owner.userId)
    assert.deepEqual(entry.detail, { name: 'Warehouse' })
  })

  it('leaves one activity entry when ten ask at once at two processes', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => revoke(clientId, { at: index % 2 ? api : second })),
    )
    for (const { status, json } of answers) {
      assert.equal(status, 200)
      assert.deepEqual(json, answers[0]?.json)
    }
    assert.equal((await entries()).length, 1)
  })

  it('keeps a revocation permanent in the database', async () => {
    await revoke()
    await assert.rejects(
      api.db.raw(
        `update oauth_clients set status = 'Active', revoked_at = null, revoked_by = null where client_id = ?`,
        [clientId],
      ),
      /revoked permanently/,
    )
  })

  it('ignores a body', async () => {
    assert.equal((await revoke(clientId, { body: '{"not": json' })).status, 200)
  })

  it("answers 404 to an unknown client and to another company's, which stays Active", async () => {
    const other = await api.createCompany()
    const theirs = await api.createClient({ vendorId: other.vendorId })
    for (const id of [`cli_${'a'.repeat(22)}`, theirs.clientId, 'x', '%00']) {
      assertProblem(await revoke(id), 'not_found')
    }
    const token = await api.issuer.token({ clientId: theirs.clientId, vendorId: other.vendorId })
    const response = await api.request('GET', `/v1/analytics/${other.vendorId}/daily`, { token })
    assert.equal(response.status, 200)
    assert.deepEqual(await entries(), [])
  })

  for (const [what, disturb] of [
    ['is killed', (target: TestApi) => target.redis.stop('SIGKILL')],
    [
      'is killed and comes back with what was on disk',
      async (target: TestApi) => {
        await target.redis.stop('SIGTERM')
        await target.redis.start()
      },
    ],
  ] as const) {
    it(`revokes the client also when Redis ${what} before it`, async () => {
      const token = await api.issuer.token({ clientId, vendorId })
      assert.equal((await read(second, token)).status, 200)
      await disturb(api)
      assert.equal((await read(second, token)).status, 200, 'Postgres decides')
      assert.equal((await revoke()).status, 200)
      assertProblem(await read(api, token), 'invalid_token')
      assertProblem(await read(second, token), 'invalid_token')
      await api.redis.stop('SIGKILL')
      assertProblem(await read(second, token), 'invalid_token')
      await api.redis.start()
      assertProblem(await read(second, token), 'invalid_token')
    })
  }

  it('waits for the longest lease when Redis is gone, with production durations', async () => {
    const real = await startApi({ beside: api, revocationTimings: ROUND_TIMINGS })
    await api.redis.stop('SIGKILL')
    const started_ms = performance.now()
    assert.equal((await revoke(clientId, { at: real })).status, 200)
    assert.ok(performance.now() - started_ms >= PRODUCTION_TIMINGS.settle_ms - 50)
    await api.redis.start()
    await real.stop()
  })
})
