import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { recordActivity } from '../../apps/api/accounts/activity.ts'
import { type ApiResponse, freshOwner, readPages, sharedApi } from '../support/api.ts'

describe('GET /v1/vendor/{vendor_id}/activity', () => {
  const api = sharedApi()
  const owner = freshOwner(api)

  const list = (search = '') => owner.request('GET', `activity${search}`)

  describe('eight changes at once', () => {
    const ISSUER = 'https://issuer.acme.example'
    const jwk = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    const keys = (kid: string) => ({ keys: [{ ...jwk, kid }] })
    const CHANGES: Record<string, () => Promise<(index: number) => Promise<ApiResponse>>> = {
      'client.renamed': async () => {
        const { clientId } = await create()
        return (index) => owner.request('PATCH', `oauth-clients/${clientId}`, { body: { name: `${index}` } })
      },
      'callback.saved': async () => (index) =>
        owner.request('PATCH', 'callback-url', { body: { callbackUrl: `https://93.184.216.${index}/` } }),
      'workload_issuer.keys_replaced': async () => {
        await create({ workload: { issuer: ISSUER, claims: { sub: 'a' }, keys: keys('first') } })
        return (index) =>
          owner.request('PUT', 'workload-issuers', { body: { issuer: ISSUER, keys: keys(`${index}`) } })
      },
      'person.changed': async () => {
        const { userId } = await api.createPerson({ vendorId: owner.vendorId, role: 'member' })
        return (index) =>
          owner.request('PATCH', `people/${userId}`, { body: { role: index % 2 ? 'admin' : 'member' } })
      },
    }
    const create = async (more = {}) => {
      const body = { name: 'first', scopes: ['boost:read'], ...more }
      const { status, json, text } = await owner.request('POST', 'oauth-clients', { body })
      assert.equal(status, 201, text)
      return json
    }
    for (const [action, prepare] of Object.entries(CHANGES))
      it(`leave a chain of ${action}: each starts where the one before it ended`, async () => {
        const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(await prepare()))
        for (const { status, text } of answers) assert.equal(status, 200, text)
        const entries = api.db('activity').where({ vendor_id: owner.vendorId, action }).orderBy('entry_id')
        const details: { before: unknown; after: unknown }[] = await entries.pluck('detail')
        assert.ok(details.length > 1)
        const [, ...starts] = details.map(({ before }) => before)
        const ends = details.map(({ after }) => after)
        assert.deepEqual([...starts, ends.at(-1)], ends)
      })
  })

  for (const [order, at, indexes] of [
    // A transaction that began later may have been given the lower number.
    ['newest first', `now() - entry_id * interval '1 s'`, [0, 1, 2, 3, 4, 5, 6]],
    ['by number where the time is the same', 'now()', [6, 5, 4, 3, 2, 1, 0]],
  ] as const)
    it(`goes through all pages ${order}, without a double or a gap, and never to another company`, async () => {
      const other = await api.createCompany()
      const append = (vendorId: string, index: number) =>
        recordActivity(api.db, { vendorId, by: owner.userId }, 'callback.saved', `${vendorId}-${index}`)
      // Neighbours at the edge of a page are of one company, or of two.
      for (const index of [0, 1, 2, 3]) await append(owner.vendorId, index)
      for (const index of [4, 5, 6])
        for (const company of [other.vendorId, owner.vendorId]) await append(company, index)
      await api.db.raw(`update activity set at = ${at} where vendor_id = ?`, [owner.vendorId])
      for (const limit of [1, 3, 7, 200])
        for (const end of ['', '&to=2999-01-01T00:00:00Z']) {
          const entries = await readPages<{ subject: string }>(list, 'entries', `limit=${limit}${end}`)
          const seen = entries.map(({ subject }) => Number(subject.replace(`${owner.vendorId}-`, '')))
          assert.deepEqual(seen, indexes)
        }
    })

  it('looks at 5,000 entries a page, and says where to go on', async () => {
    const by = { vendorId: owner.vendorId, by: owner.userId }
    await recordActivity(api.db, by, 'client.renamed', 'the oldest')
    await api.db.raw(
      `insert into activity (vendor_id, user_id, action, subject)
       select ?, ?, 'callback.saved', 'hooks.example' from generate_series(1, 5000)`,
      [owner.vendorId, owner.userId],
    )
    await recordActivity(api.db, by, 'client.renamed', 'the newest')
    const search = `?userId=${owner.userId}&action=client.renamed`
    const pages: [subjects: string[], isLast: boolean][] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { json } = await list(`${search}${cursor && `&cursor=${cursor}`}`)
      cursor = json.nextCursor
      pages.push([json.entries.map(({ subject }: { subject: string }) => subject), cursor === null])
    }
    assert.deepEqual(pages, [
      [['the newest'], false],
      [['the oldest'], true],
    ])
  })
})
