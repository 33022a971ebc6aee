import assert from 'node:assert/strict'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { freshOwner, sharedApi, startApi, type TestApi, type TestPerson } from '../support/api.ts'
import { forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { assertProblem } from '../support/problem.ts'
import { asAdmin } from '../support/revocation.ts'

describe('POST /v1/vendor/{vendor_id}/oauth-clients/{client_id}/revoke', () => {
  const api = sharedApi()
  const second = sharedApi({ beside: api })
  const owner = freshOwner(api)
  const client = forEachTest(() => owner.createClient({ name: 'Warehouse' }))

  const revoke = ({ at = api, person = owner }: { at?: TestApi; person?: TestPerson } = {}) =>
    person.request('POST', `oauth-clients/${client.clientId}/revoke`, { at })
  const tokenOf = (id = client.clientId) => api.issuer.token({ clientId: id, vendorId: owner.vendorId })
  const read = async (at: TestApi, token: string) =>
    at.request('GET', `/v1/analytics/${owner.vendorId}/daily`, { token })
  const entries = () => api.db('activity').where({ vendor_id: owner.vendorId })

  it('ends every token of the client, at every process, once it has answered', async () => {
    const tokens = await Promise.all([1, 2, 3].map(() => tokenOf()))
    const others = await tokenOf((await owner.createClient()).clientId)
    for (const at of [api, second])
      for (const token of tokens) assert.equal((await read(at, token)).status, 200)
    assert.equal((await revoke()).status, 200)
    for (const at of [api, second])
      for (const token of [...tokens, await tokenOf()]) assertProblem(await read(at, token), 'invalid_token')
    assert.equal((await read(second, others)).status, 200)
  })

  it('refuses every read that began after the answer, while readers hammer', async () => {
    // Otherwise Postgres decides, which has it from the commit.
    const vouched = () => asAdmin(api.redis, (redis) => redis.exists(redisKeys.revocationMarker))
    await eventually(async () => (await vouched()) === 1)
    const token = await tokenOf()
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
    assert.deepEqual([...new Set(late)], [401])
  })

  it('leaves one activity entry when ten ask at once at two processes', async () => {
    const asked = Array.from({ length: 10 }, (_, index) => revoke({ at: index % 2 ? api : second }))
    const answers = await Promise.all(asked)
    for (const { json } of answers) assert.deepEqual(json, { ...answers[0]?.json, status: 'Revoked' })
    assert.equal((await entries()).length, 1)
  })

  for (const [what, disturb] of [
    ['is killed', () => api.redis.stop('SIGKILL')],
    ['comes back with what was on disk', () => api.redis.stop('SIGTERM').then(() => api.redis.start())],
  ] as const)
    it(`revokes the client also when Redis ${what} before it`, async () => {
      const token = await tokenOf()
      assert.equal((await read(second, token)).status, 200)
      await disturb()
      assert.equal((await read(second, token)).status, 200, 'Postgres decides')
      assert.equal((await revoke()).status, 200)
      assertProblem(await read(api, token), 'invalid_token')
      assertProblem(await read(second, token), 'invalid_token')
      await api.redis.stop('SIGKILL')
      assertProblem(await read(second, token), 'invalid_token')
      await api.redis.start()
      assertProblem(await read(second, token), 'invalid_token')
    })

  it('waits for the longest lease when Redis is gone, with production durations', async () => {
    await using real = await startApi({ beside: api, revocationTimings: PRODUCTION_TIMINGS })
    await api.redis.stop('SIGKILL')
    const started_ms = performance.now()
    assert.equal((await revoke({ at: real })).status, 200)
    assert.ok(performance.now() - started_ms >= PRODUCTION_TIMINGS.settle_ms - 50)
    await api.redis.start()
  })
})
