import assert from 'node:assert/strict'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import { freshOwner, sharedApi } from '../support/api.ts'
import { assertInvalid } from '../support/problem.ts'

describe('a client that replaces another', () => {
  const api = sharedApi()
  const owner = freshOwner(api)
  let old: string
  beforeEach(async () => {
    ;({ clientId: old } = await owner.createClient({ name: 'Old' }))
  })

  const call = (method: string, path: string, more: object = {}) =>
    owner.request(method, `${path}`, { ...more })
  const create = (replaces: unknown, headers = {}) =>
    call('POST', 'oauth-clients', { body: { name: 'New', scopes: ['boost:read'], replaces }, headers })
  const read = async (id: string) => (await call('GET', `oauth-clients/${id}`)).json

  it('names the replacement on both clients and in the activity', async () => {
    const { status, json } = await create(old)
    assert.equal(status, 201)
    assert.equal(json.replaces, old)
    assert.equal(json.replacedBy, null)
    assert.equal((await read(old)).replacedBy, json.clientId)
    const [{ detail }] = (await call('GET', 'activity')).json.entries
    assert.deepEqual(detail, {
      name: 'New',
      scopes: ['boost:read'],
      replaces: { clientId: old, name: 'Old' },
    })
  })

  for (const [what, target] of [
    ['no client', async () => `cli_${'a'.repeat(22)}`],
    ["another company's", async () => (await api.createClient()).clientId],
    [
      'Revoked',
      async () => {
        await call('POST', `oauth-clients/${old}/revoke`)
        return old
      },
    ],
    [
      'replaced already',
      async () => {
        await create(old)
        return old
      },
    ],
  ] as const)
    it(`refuses to replace what is ${what}`, async () => {
      const replaces = await target()
      const before = (await call('GET', 'oauth-clients')).json.clients.length
      assertInvalid(await create(replaces), '/replaces')
      assert.equal((await call('GET', 'oauth-clients')).json.clients.length, before)
    })

  it('creates one replacement, however many are requested at once', async () => {
    const statuses = (await Promise.all([1, 2, 3, 4].map(() => create(old)))).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [201, 422, 422, 422])
  })

  it('creates no replacement of a client being revoked', async () => {
    const { running } = await api.db.transaction(async (transaction) => {
      await markClientRevoked(transaction, { vendorId: owner.vendorId, clientId: old, revokedBy: null })
      const replacing = create(old)
      await new Promise((resolve) => setTimeout(resolve, 200))
      return { running: replacing }
    })
    assertInvalid(await running, '/replaces')
  })

  it('names the newest of the revoked replacements', async () => {
    let newest: string | undefined
    for (let times = 0; times < 3; times += 1) {
      newest = (await create(old)).json.clientId
      await call('POST', `oauth-clients/${newest}/revoke`)
      api.clock.advance(1_000)
    }
    assert.equal((await read(old)).replacedBy, newest)
  })

  it('distinguishes it from a plain client with the same Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'k' }
    const first = await create(old, headers)
    assert.equal(first.status, 201)
    const again = await create(old, headers)
    assert.equal(again.status, 200)
    assert.equal(again.json.clientId, first.json.clientId)
    assert.equal((await create(undefined, headers)).json.code, 'idempotency_key_reused')
  })
})
