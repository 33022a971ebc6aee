import assert from 'node:assert/strict'
import { type Person, sharedApi, startApi } from '../support/api.ts'

describe('the workspace of a company', () => {
  const api = sharedApi()
  let [vendorId, other] = ['', '']
  let owner: Person
  let otherOwner: Person
  before(async () => {
    vendorId = (await api.createCompany()).vendorId
    other = (await api.createCompany()).vendorId
    owner = await api.createPerson({ vendorId, role: 'owner' })
    otherOwner = await api.createPerson({ vendorId: other, role: 'owner' })
  })

  it('takes two connections at most, so slow statements of one leave the others theirs', async () => {
    const lock = await api.db.transaction()
    await lock.raw('lock table callback_destinations in access exclusive mode')
    const slow = Array.from({ length: 10 }, () =>
      api.request('GET', `/v1/vendor/${vendorId}/callback-url`, { token: owner.sessionToken }),
    )
    const read = () => api.request('GET', `/v1/vendor/${other}/activity`, { token: otherOwner.sessionToken })
    const statuses: number[] = []
    for (let n = 0; n < 10; n += 1) statuses.push((await read()).status)
    const { rows } = await api.db.raw(
      `select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    await lock.rollback()
    assert.deepEqual(statuses, Array(10).fill(200))
    assert.equal(rows[0].waiting, 2)
    for (const { status } of await Promise.all(slow)) assert.equal(status, 200)
  })

  it('has a limit of changes, whatever they are, and of its own', async () => {
    const busy = await startApi({ beside: api, env: { RATE_CHANGES_PER_COMPANY: '4/3600' } })
    const clients = `/v1/vendor/${vendorId}/oauth-clients`
    const body = { name: 'Old', scopes: ['boost:read'] }
    const { clientId } = (await busy.request('POST', clients, { token: owner.sessionToken, body })).json
    const changes: [method: string, path: string, body: object][] = [
      ['PATCH', `${clients}/${clientId}`, { name: 'New' }],
      ['PATCH', `${clients}/${clientId}/rotation`, { armed: null }],
      ['PATCH', `/v1/vendor/${vendorId}/callback-url`, { callbackUrl: 'https://192.0.2.1/' }],
      ['POST', `/v1/vendor/${vendorId}/people`, { name: 'Kim', email: 'kim@acme.example', role: 'member' }],
    ]
    const send = async ([method, path, body]: (typeof changes)[number]) =>
      busy.request(method, path, { token: owner.sessionToken, body })
    for (const change of changes) assert.notEqual((await send(change)).status, 429)
    for (const change of changes) {
      const { status, json, headers } = await send(change)
      assert.deepEqual([status, json.code], [429, 'rate_limited'], change[1])
      assert.match(headers.get('retry-after') ?? '', /^\d+$/)
    }
    const path = `/v1/vendor/${other}/callback-url`
    const answer = await busy.request('PATCH', path, {
      token: otherOwner.sessionToken,
      body: { callbackUrl: 'https://192.0.2.1/' },
    })
    assert.notEqual(answer.status, 429)
    await busy.stop()
  })
})
