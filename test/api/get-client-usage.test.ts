import assert from 'node:assert/strict'
import { freshOwner, sharedApi, startApi } from '../support/api.ts'
import { sharedUsage } from '../support/client-usage.ts'

const HOUR_MS = 3_600_000

describe('GET /v1/vendor/{vendor_id}/oauth-clients/{client_id}/usage', () => {
  const api = sharedApi({ startsAt: '2026-11-20T10:30:30Z' })
  const noted = sharedUsage(api)
  const owner = freshOwner(api)
  let clientId: string
  beforeEach(async () => {
    api.clock.set('2026-11-20T10:30:30Z')
    ;({ clientId } = await owner.createClient({ scopes: ['analytics:read', 'boost:read'] }))
  })

  const usage = async () =>
    owner.request('GET', `oauth-clients/${clientId}/usage`, { token: await api.createSession(owner.userId) })
  const issue = (scope: string, address: string, times = 1) =>
    noted.issued(clientId, { scope, address, times })
  const busy = (counts: Record<'tokens' | 'refused', number>[]) =>
    counts.filter(({ tokens, refused }) => tokens + refused > 0)

  it('counts the tokens of an address in the last 14 days, however long it has been in use', async () => {
    await issue('analytics:read', '192.0.2.1', 8)
    for (let day = 0; day < 15; day += 1) {
      api.clock.advance(24 * HOUR_MS)
      await issue('analytics:read', '192.0.2.1')
    }
    const { hours, addresses } = (await usage()).json
    const tokens = busy(hours).reduce((sum, one) => sum + one.tokens, 0)
    const seen = { firstSeenAt: '2026-11-20T10:30:30.000Z', lastSeenAt: '2026-12-05T10:30:30.000Z' }
    assert.deepEqual([tokens, addresses], [14, [{ address: '192.0.2.1', tokens: 14, ...seen }]])
  })

  it('stores an address that is longer than any should be, cut', async () => {
    await issue('analytics:read', 'z'.repeat(100))
    assert.equal((await usage()).json.addresses[0].address.length, 60)
  })

  it('shows the 20 latest addresses, and before when others got tokens', async () => {
    for (let host = 1; host <= 30; host += 1) {
      api.clock.advance(1_000)
      await issue('analytics:read', `192.0.2.${host}`)
    }
    const { addresses, addressesMissingBefore } = (await usage()).json
    assert.equal(addresses.length, 20)
    assert.deepEqual([addresses[0].address, addresses[19].address], ['192.0.2.30', '192.0.2.11'])
    assert.equal(addressesMissingBefore, '2026-11-20T10:30:40.000Z')
  })

  const add = (addresses: number, hoursAgo: number) => () =>
    api.db.raw(
      `insert into client_address_usage select ?, at, 'a' || n, 1, at, at
       from generate_series(1, ?::int) as n, (select ?::timestamptz - ? * interval '1 hour' as at) as use`,
      [clientId, addresses, new Date(api.clock.now()), hoursAgo],
    )
  const keepUsage = () =>
    api.db.raw('insert into client_usage values (?, ?, ?)', [clientId, '2026-01-01Z', '2026-11-20Z'])
  for (const [name, prepare, missingBefore] of [
    ['nothing while one was used', add(1, 0), null],
    ['nothing on a day of 199', add(199, 24), '2026-11-19T10:30:30.000Z'],
    ['the end of a day of 200, of which some may be dropped', add(200, 24), '2026-11-20T00:00:00.000Z'],
    ['now, today', add(200, 1), '2026-11-20T10:30:30.000Z'],
    ['the last use by one that has been away for 14 days', add(1, 15 * 24), '2026-11-05T10:30:30.000Z'],
    ['what is not kept any more', keepUsage, '2026-08-12T10:30:30.000Z'],
  ] as const)
    it(`names as the time before which addresses may be missing: ${name}`, async () => {
      await prepare()
      const { addressesMissingBefore, addressesSince } = (await usage()).json
      assert.deepEqual([addressesMissingBefore, addressesSince], [missingBefore, '2026-11-07T00:00:00.000Z'])
    })

  it('forgets hours and addresses after 14 days and minutes after an hour', async () => {
    await issue('analytics:read', '192.0.2.1')
    api.clock.advance(HOUR_MS)
    assert.deepEqual(busy((await usage()).json.minutes), [])
    assert.equal(busy((await usage()).json.hours).length, 1)
    api.clock.advance(14 * 24 * HOUR_MS)
    const { hours, addresses, scopes } = (await usage()).json
    assert.deepEqual([busy(hours), addresses], [[], []])
    assert.equal(scopes[0].lastUsedAt, '2026-11-20T10:30:30.000Z')
  })

  it('has what a process counted just before it ended, which then leaves nothing missing', async () => {
    const writers = () => api.db('usage_writers').orderBy('writer').pluck('writer')
    const before = await writers()
    {
      await using ending = await startApi({ beside: api })
      const token = await api.issuer.token({ ...owner, clientId, scope: 'boost:read' })
      await ending.request('GET', `/v1/analytics/${owner.vendorId}/daily`, { token })
    }
    assert.equal(busy((await usage()).json.hours)[0]?.refused, 1)
    assert.deepEqual(await writers(), before)
  })

  it('answers what Postgres knows when Redis is gone', async () => {
    await issue('analytics:read', '192.0.2.1')
    await api.redis.stop('SIGKILL')
    assert.equal(busy((await usage()).json.hours)[0]?.tokens, 1)
    await api.redis.start()
  })
})
