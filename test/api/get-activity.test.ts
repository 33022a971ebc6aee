import assert from 'node:assert/strict'
import { appendActivity } from '#shared/activity.ts'
import { type Person, startApi, type TestApi } from '../support/api.ts'
import { assertInvalid } from '../support/problem.ts'

describe('GET /v1/vendor/{vendor_id}/activity', () => {
  let api: TestApi
  let vendorId: string
  let owner: Person
  before(async () => {
    api = await startApi()
  })
  beforeEach(async () => {
    ;({ vendorId } = await api.createCompany())
    owner = await api.createPerson({ vendorId })
  })
  after(() => api.stop())

  const list = (search = '') =>
    api.request('GET', `/v1/vendor/${vendorId}/activity${search}`, { token: owner.sessionToken })

  it('answers an empty list for a company where nothing was done', async () => {
    assert.deepEqual((await list()).json, { entries: [], nextCursor: null })
  })

  it('tells who created and revoked a client, newest first', async () => {
    const path = `/v1/vendor/${vendorId}/oauth-clients`
    const body = { name: 'Warehouse', scopes: ['boost:read'] }
    const { clientId } = (await api.request('POST', path, { token: owner.sessionToken, body })).json
    await api.request('POST', `${path}/${clientId}/revoke`, { token: owner.sessionToken })
    const { entries, nextCursor } = (await list()).json
    assert.equal(nextCursor, null)
    const by = { userId: owner.userId, name: owner.name }
    for (const entry of entries) {
      assert.match(entry.entryId, /^\d+$/)
      assert.ok(Math.abs(Date.parse(entry.at) - Date.now()) < 60_000)
    }
    assert.deepEqual(
      entries.map(({ entryId, at, ...rest }: Record<string, unknown>) => rest),
      [
        { by, action: 'client.revoked', subject: clientId, detail: { name: 'Warehouse' } },
        { by, action: 'client.created', subject: clientId, detail: body },
      ],
    )
  })

  it('names the operator where there is no user', async () => {
    await appendActivity(api.db, { vendorId, userId: null, action: 'client.revoked', subject: 'cli_x' })
    assert.deepEqual((await list()).json.entries[0].by, { userId: null, name: 'operator' })
  })

  it('goes through all pages without a double or a gap, and never to another company', async () => {
    const other = await api.createCompany()
    for (let index = 0; index < 7; index += 1) {
      for (const company of [vendorId, other.vendorId]) {
        await appendActivity(api.db, {
          vendorId: company,
          userId: owner.userId,
          action: 'callback.saved',
          subject: `${company}-${index}`,
        })
      }
    }
    for (const limit of [1, 3, 7, 200]) {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const { json } = await list(`?limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`)
        seen.push(...json.entries.map(({ subject }: { subject: string }) => subject))
        cursor = json.nextCursor
        assert.ok(seen.length <= 7, `limit ${limit}: pages repeat`)
      } while (cursor)
      assert.deepEqual(
        seen,
        [6, 5, 4, 3, 2, 1, 0].map((index) => `${vendorId}-${index}`),
      )
    }
  })

  for (const [search, pointer] of [
    ['?limit=0', '?limit'],
    ['?limit=201', '?limit'],
    ['?cursor=x', '?cursor'],
    [`?cursor=${Buffer.from('["1"]').toString('base64url')}`, '?cursor'],
    [`?cursor=${Buffer.from('[-1]').toString('base64url')}`, '?cursor'],
    [`?cursor=${Buffer.from('[1e300]').toString('base64url')}`, '?cursor'],
    ['?user=1', '?user'],
  ] as const) {
    it(`refuses ${search}`, async () => {
      assertInvalid(await list(search), pointer)
    })
  }
})
