import assert from 'node:assert/strict'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import { freshOwner, sharedApi } from '../support/api.ts'
import { assertInvalid, assertStatuses } from '../support/problem.ts'

describe('a client that replaces another', () => {
  const api = sharedApi()
  const owner = freshOwner(api)
  let old: string
  beforeEach(async () => {
    ;({ clientId: old } = await owner.createClient({ name: 'Old' }))
  })

  const call = (method: string, path: string, more: object = {}) => owner.request(method, path, more)
  const create = (replaces: unknown, headers = {}) =>
    call('POST', 'oauth-clients', { body: { name: 'New', scopes: ['boost:read'], replaces }, headers })
  const read = async (id: string) => (await call('GET', `oauth-clients/${id}`)).json
  const revoke = (id: string) => call('POST', `oauth-clients/${id}/revoke`)

  for (const [what, prepare] of [
    ['no client', async () => `cli_${'a'.repeat(22)}`],
    ["another company's", async () => (await api.createClient()).clientId],
    ['Revoked', () => revoke(old).then(() => old)],
    ['replaced already', () => create(old).then(() => old)],
  ] as const)
    it(`refuses to replace what is ${what}`, async () => {
      const replaces = await prepare()
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

  it('names the newest of the revoked replacements, or the Active one', async () => {
    let newest: string | undefined
    for (let times = 0; times < 3; times += 1) {
      newest = (await create(old)).json.clientId
      await revoke(`${newest}`)
      api.clock.advance(1_000)
    }
    assert.equal((await read(old)).replacedBy, newest)
    // By a process whose clock is behind.
    api.clock.advance(-60_000)
    const active = await create(old)
    assert.equal((await read(old)).replacedBy, active.json.clientId)
  })

  it('distinguishes it from a plain client with the same Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'k' }
    const [first, again] = [await create(old, headers), await create(old, headers)]
    assertStatuses([first, again], 201, 200)
    assert.equal(again.json.clientId, first.json.clientId)
    assert.equal((await create(undefined, headers)).json.code, 'idempotency_key_reused')
  })
})
