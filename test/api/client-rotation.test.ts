import assert from 'node:assert/strict'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { freshOwner, sharedApi } from '../support/api.ts'
import { forBlock } from '../support/block.ts'
import { sharedUsage } from '../support/client-usage.ts'
import { assertProblem } from '../support/problem.ts'

const LAST_USE = '2025-09-14T02:00:10.000Z'
const LOSS_ENDS = '2025-09-20T02:00:10.000Z'

/** A client that got a token at 02:00 of three nights, seen at noon of the last day. */
describe('GET /v1/vendor/{vendor_id}/oauth-clients/{client_id}/rotation', () => {
  const api = sharedApi({ startsAt: '2025-09-10T00:00:00Z' })
  const noted = sharedUsage(api)
  const redis = forBlock(() => api.redis.connect('api'))
  const owner = freshOwner(api)
  let old: string
  beforeEach(async () => {
    api.clock.set('2025-09-10T00:00:00Z')
    ;({ clientId: old } = await owner.createClient({ name: 'Warehouse' }))
    for (const night of ['2025-09-10', '2025-09-13', '2025-09-14']) {
      api.clock.set(`${night}T02:00:10Z`)
      await use(old)
    }
    api.clock.set('2025-09-14T12:00:00Z')
  })
  afterEach(async () => {
    await api.db('restore_fences').delete()
    await api.db('usage_writers').whereNotNull('lost_at').delete()
  })

  const use = (clientId: string, address = '192.0.2.1') => noted.issued(clientId, { address })
  const call = async (method: string, path: string, body?: object) =>
    owner.request(method, path, { token: await api.createSession(owner.userId), ...(body && { body }) })
  const rotation = async (clientId = old) => (await call('GET', `oauth-clients/${clientId}/rotation`)).json
  const replace = async (replaced = old): Promise<string> =>
    (await call('POST', 'oauth-clients', { name: 'Next', scopes: ['analytics:read'], replaces: replaced }))
      .json.clientId

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

  it('shows each pair of a chain as it was', async () => {
    api.clock.set('2025-09-14T11:59:58Z')
    await call('POST', `oauth-clients/${await replace()}/revoke`)
    api.clock.advance(1_000)
    const middle = await replace()
    const unused = { firstUsedAt: null, lastUsedAt: null, addresses: [] }
    assert.deepEqual((await rotation()).replacement, { clientId: middle, status: 'Active', ...unused })
    await use(middle, '192.0.2.8')
    api.clock.advance(1_000)
    await use(middle, '192.0.2.9')
    const newest = await replace(middle)
    for (const client of [old, middle]) await call('POST', `oauth-clients/${client}/revoke`)
    const [firstUsedAt, lastUsedAt] = ['2025-09-14T11:59:59.000Z', '2025-09-14T12:00:00.000Z']
    const earlier = { address: '192.0.2.8', lastUsedAt: firstUsedAt }
    const used = { firstUsedAt, lastUsedAt, addresses: [{ address: '192.0.2.9', lastUsedAt }, earlier] }
    assert.deepEqual((await rotation()).replacement, { clientId: middle, status: 'Revoked', ...used })
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

  it('says that uses since the last one may be missing because a process dropped them, until the next use', async () => {
    await api.db.raw(
      `insert into usage_writers (writer, batch, flushed_at, lost_at)
       values (gen_random_uuid(), 1, clock_timestamp(), '${LOSS_ENDS}')`,
    )
    assert.equal((await rotation()).usesMissingSince, LAST_USE)
    assert.equal((await call('GET', `oauth-clients/${old}`)).json.usesMissingBefore, LOSS_ENDS)
    api.clock.set('2025-09-20T02:00:11Z')
    const { clientId: later } = await owner.createClient({ createdAt: new Date(api.clock.now()) })
    assert.equal((await call('GET', `oauth-clients/${later}`)).json.usesMissingBefore, null)
    await use(old)
    assert.equal((await rotation()).usesMissingSince, null)
    assert.equal((await call('GET', `oauth-clients/${old}`)).json.usesMissingBefore, null)
  })

  it('says that uses since the creation may be missing of a client without a known use', async () => {
    const { clientId } = await owner.createClient({ createdAt: new Date('2025-09-01T00:00:00Z') })
    await api.db.raw(`insert into restore_fences (reason, lowered_at) values ('test', clock_timestamp())`)
    assert.equal((await rotation(clientId)).usesMissingSince, '2025-09-01T00:00:00.000Z')
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
