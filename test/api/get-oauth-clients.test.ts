import assert from 'node:assert/strict'
import { freshOwner, readPages, sharedApi } from '../support/api.ts'
import { sharedUsage } from '../support/client-usage.ts'

describe('GET /v1/vendor/{vendor_id}/oauth-clients', () => {
  const api = sharedApi()
  const owner = freshOwner(api)
  const noted = sharedUsage(api)

  const list = (search = '') => owner.request('GET', `oauth-clients${search}`)
  const ids = ({ json }: { json: { clients: { clientId: string }[] } }) =>
    json.clients.map(({ clientId }) => clientId)

  it('goes through all pages, newest first, without a double or a gap, to the microsecond', async () => {
    const made: string[] = []
    for (let index = 0; index < 12; index += 1) {
      const { clientId } = await owner.createClient()
      // Groups of three at the same microsecond, the groups one microsecond apart.
      await api.db.raw(`alter table oauth_clients disable trigger all`)
      await api.db.raw(
        `update oauth_clients set created_at = timestamptz '2026-01-01T00:00:00Z' + ? * interval '1 microsecond'
         where client_id = ?`,
        [Math.floor(index / 3), clientId],
      )
      await api.db.raw(`alter table oauth_clients enable trigger all`)
      made.push(clientId)
    }
    for (const limit of [1, 2, 5, 12, 200]) {
      const seen = ids({ json: { clients: await readPages(list, 'clients', `limit=${limit}`) } })
      const expected = [0, 1, 2, 3].flatMap((group) => made.slice(group * 3, group * 3 + 3).sort()).reverse()
      assert.deepEqual(seen, expected, `limit ${limit}`)
    }
  })

  it('does not lose its place when clients are added meanwhile', async () => {
    for (let index = 0; index < 4; index += 1) {
      api.clock.advance(1)
      await owner.createClient()
    }
    const first = await list('?limit=2')
    api.clock.advance(1)
    await owner.createClient()
    const second = await list(`?limit=2&cursor=${first.json.nextCursor}`)
    assert.equal(new Set([...ids(first), ...ids(second)]).size, 4)
    assert.equal(second.json.nextCursor, null)
  })

  it('filters by creator, also one who left, together with the other filters', async () => {
    const leaver = await api.createPerson({ vendorId: owner.vendorId, role: 'admin' })
    const { clientId } = await owner.createClient({ createdBy: leaver.userId })
    await owner.createClient({ createdBy: owner.userId })
    await owner.createClient({ createdBy: null })
    await owner.request('DELETE', `people/${leaver.userId}`)
    assert.deepEqual(ids(await list(`?createdBy=${leaver.userId}`)), [clientId])
    assert.deepEqual(ids(await list(`?createdBy=${leaver.userId}&status=Active`)), [clientId])
    for (const search of [`${leaver.userId}&status=Revoked`, `${leaver.userId}&secretFound=true`, 'usr_none'])
      assert.deepEqual(ids(await list(`?createdBy=${search}`)), [])
  })

  it('does not show another company by a cursor of it', async () => {
    const other = await api.createOwner()
    for (let index = 0; index < 3; index += 1) await other.createClient()
    const first = await other.request('GET', 'oauth-clients?limit=1')
    assert.deepEqual((await list(`?cursor=${first.json.nextCursor}`)).json, { clients: [], nextCursor: null })
  })

  it('shows last use and counts as soon as they are stored', async () => {
    const { clientId } = await owner.createClient()
    const usage = async () => {
      const [{ lastUsedAt, tokensIssued24h, tokensByDay }] = (await list()).json.clients
      assert.equal(tokensByDay.length, 14)
      assert.equal(tokensByDay[13], tokensIssued24h)
      return { lastUsedAt, tokensIssued24h, before: tokensByDay.slice(0, 13).filter(Boolean) }
    }
    const usedAt = new Date(api.clock.now()).toISOString()
    await noted.issued(clientId, { times: 2 })
    assert.deepEqual(await usage(), { lastUsedAt: usedAt, tokensIssued24h: 2, before: [] })
    api.clock.advance(3_600_000)
    await noted.issued(clientId)
    const later = new Date(api.clock.now()).toISOString()
    assert.deepEqual(await usage(), { lastUsedAt: later, tokensIssued24h: 3, before: [] })
    api.clock.advance(23 * 3_600_000)
    owner.sessionToken = await api.createSession(owner.userId)
    assert.deepEqual(await usage(), { lastUsedAt: later, tokensIssued24h: 1, before: [2] })
    api.clock.advance(3_600_000)
    assert.deepEqual(await usage(), { lastUsedAt: later, tokensIssued24h: 0, before: [3] })
    api.clock.advance(13 * 24 * 3_600_000)
    owner.sessionToken = await api.createSession(owner.userId)
    assert.deepEqual(await usage(), { lastUsedAt: later, tokensIssued24h: 0, before: [] })
  })

  it('counts the first hour of the first day, and an hour that another clock has reached in the last', async () => {
    const { clientId } = await owner.createClient()
    const ahead = new Date(api.clock.now() + 3_600_000)
    await api.db.raw(
      `insert into client_usage_hourly select ?, at, 1, 0 from (values (?::timestamptz),
       (date_trunc('hour', ?::timestamptz) - interval '336 hours')) as hours (at)`,
      [clientId, ahead, ahead],
    )
    const [{ tokensByDay }] = (await list()).json.clients
    assert.deepEqual(tokensByDay, [1, ...Array(12).fill(0), 1])
  })
})
