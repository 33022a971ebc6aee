import assert from 'node:assert/strict'
import type { Resolution } from '../../apps/api/guarded-fetch/resolver.ts'
import { type ApiRequest, freshOwner, sharedApi } from '../support/api.ts'
import { afterwards } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { assertProblem } from '../support/problem.ts'
import { untilBlocked } from '../support/stores.ts'
import { createResolution as found } from './callbacks/sending.ts'

describe('GET, PATCH /v1/vendor/{vendor_id}/callback-url', () => {
  let resolution: Resolution | Promise<Resolution>
  let asked: string[]
  const resolve = async (name: string) => {
    asked.push(name)
    return resolution
  }
  const api = sharedApi({ internet: { resolve }, env: { CALLBACK_DENY_RANGES: '45.0.0.0/8' } })
  const owner = freshOwner(api)
  beforeEach(() => {
    asked = []
    resolution = found('93.184.216.34', '2606:4700::1111')
  })

  const patch = (body: unknown, request: ApiRequest = {}) =>
    owner.request('PATCH', 'callback-url', { body, ...request })
  const save = (callbackUrl: unknown) => patch({ callbackUrl })
  const saved = async () => (await owner.request('GET', 'callback-url')).json.callbackUrl
  const activity = () =>
    api.db('activity').where({ vendor_id: owner.vendorId }).select('user_id', 'action', 'subject', 'detail')

  it('names as the host before the one that it replaces, also when two save at once', async () => {
    await save('https://first.acme.com/')
    const other = await api.db.transaction()
    await other.raw(
      `update callback_destinations set callback_url = 'https://second.acme.com/' where vendor_id = ?`,
      [owner.vendorId],
    )
    const saving = save('https://third.acme.com/')
    await untilBlocked(api.db)
    await other.commit()
    assert.equal((await saving).status, 200)
    const { detail } = (await activity()).at(-1)
    assert.deepEqual(detail, { before: { host: 'second.acme.com' }, after: { host: 'third.acme.com' } })
  })

  it('saves both the URL and the activity entry, or neither', async () => {
    await save('https://one.acme.com/')
    await api.db.raw(`create function refuse() returns trigger language plpgsql as
      $$ begin if new.vendor_id = '${owner.vendorId}' then raise exception 'no'; end if; return new; end $$`)
    await api.db.raw('create trigger refuse before insert on activity for each row execute function refuse()')
    await using _ = afterwards(() => api.db.raw('drop trigger refuse on activity; drop function refuse'))
    assertProblem(await save('https://two.acme.com/'), 'internal')
    const failure = api.logLines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'request failed')
    assert.equal(failure.level, 50, 'a fault of ours is an error')
    assert.equal(await saved(), 'https://one.acme.com/')
    assert.equal((await activity()).length, 1)
  })

  it('holds up no other company while DNS does not answer, and looks up two names of each at once', async () => {
    const answer = Promise.withResolvers<Resolution>()
    resolution = answer.promise
    const slow = await Promise.all([1, 2, 3].map(() => api.createOwner()))
    const body = { callbackUrl: 'https://hooks.acme.com/' }
    const saving = slow.flatMap((person) =>
      [1, 2, 3].map(() => person.request('PATCH', 'callback-url', { body })),
    )
    // As many as the workspace has connections to Postgres.
    await eventually(() => asked.length >= 6)
    assert.deepEqual([await Promise.race([saved(), ...saving]), asked.length], [null, 6])
    answer.resolve(found('93.184.216.34'))
    for (const { status } of await Promise.all(saving)) assert.equal(status, 200)
  })

  describe('what DNS says', () => {
    for (const [what, answer, verified] of [
      ['only public addresses', found('93.184.216.34', '2606:4700::1111'), true],
      ['no such name', { addresses: [], complete: true, failure: 'not_found' }, false],
      ['nothing', { addresses: [], complete: false, failure: 'no_answer' }, false],
      ['only half', { addresses: ['93.184.216.34'], complete: false, failure: null }, false],
    ] as [string, Resolution, boolean][])
      it(`saves a URL as ${verified ? '' : 'not '}verified if DNS says: ${what}`, async () => {
        resolution = answer
        const { status, json } = await save('https://Bücher.example.com/')
        assert.deepEqual([status, json.verified, asked], [200, verified, ['xn--bcher-kva.example.com']])
      })

    for (const addresses of [['10.0.0.1'], ['93.184.216.34', '192.168.0.1'], ['45.1.2.3']])
      it(`refuses a host at ${addresses.join(' and ')}, and does not reveal the address`, async () => {
        await save('https://before.acme.com/')
        resolution = found(...addresses)
        const answer = await save('https://hooks.acme.com/')
        assertProblem(answer, 'callback_url_resolves_to_private_address')
        for (const address of addresses) assert.ok(!answer.text.includes(address))
        assert.equal(await saved(), 'https://before.acme.com/')
        assert.equal((await activity()).length, 1)
      })

    it('asks no DNS for an IP literal, which is judged itself', async () => {
      assert.equal((await save('https://8.8.8.8/')).json.verified, true)
      assertProblem(await save('https://10.0.0.1/'), 'callback_url_private_address')
      assertProblem(await save('https://45.1.2.3/'), 'callback_url_private_address')
      assert.deepEqual(asked, [])
    })
  })
})
