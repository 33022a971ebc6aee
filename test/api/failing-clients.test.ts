import assert from 'node:assert/strict'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import type { AnsweredRequest } from '#shared/usage/client-usage.ts'
import { freshOwner, sharedApi } from '../support/api.ts'
import { forBlock } from '../support/block.ts'
import { sharedUsage } from '../support/client-usage.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const OWN = '203.0.113.7'
const STRANGER = '198.51.100.9'
const WRONG = { address: OWN, proven: false, status: 401, code: 'invalid_client', reason: 'wrong_secret' }

describe('clients whose requests are only refused', () => {
  const api = sharedApi()
  const noted = sharedUsage(api)
  const owner = freshOwner(api)
  let clientId: string
  const admin = forBlock(() => api.redis.connect('admin'))
  beforeEach(async () => {
    ;({ clientId } = await owner.createClient({ createdAt: new Date(api.clock.now()) }))
  })

  const refusals = (part: Partial<AnsweredRequest> = {}, times = 1) => {
    const request = { clientId, vendorId: owner.vendorId, route: 'POST /v1/oauth/token', ...WRONG }
    return Array.from({ length: times }, () => ({ ...request, requestId: crypto.randomUUID(), ...part }))
  }
  const refused = (...given: Parameters<typeof refusals>) => noted.answered(...refusals(...given))
  const issued = (address = OWN) => noted.issued(clientId, { address })
  const read = async (path = `/${clientId}`) => {
    const token = await api.createSession(owner.userId)
    const { status, json } = await owner.request('GET', `oauth-clients${path}`, { token })
    assert.equal(status, 200)
    return json
  }
  const failing = async () => (await read()).failing
  const revoke = () =>
    api.db.raw(`update oauth_clients set status = 'Revoked', revoked_at = ? where client_id = ?`, [
      new Date(api.clock.now()),
      clientId,
    ])
  const isoNow = () => new Date(api.clock.now()).toISOString()

  it('says since when, why and from where, in the list as in the client', async () => {
    await issued()
    api.clock.advance(20 * MINUTE_MS)
    const since = isoNow()
    await refused()
    api.clock.advance(5 * MINUTE_MS)
    await refused()
    const expected = { since, cause: 'wrong_secret', address: OWN, senderKnown: true }
    assert.deepEqual(await failing(), expected)
    assert.deepEqual((await read('?status=Active')).clients[0].failing, expected)
  })

  it('says nothing while a token may still be live, since reads with it leave no record', async () => {
    await issued()
    api.clock.advance(18 * MINUTE_MS)
    await refused({ proven: true, reason: 'invalid_scope' })
    assert.equal(await failing(), null)
    api.clock.advance(2 * MINUTE_MS)
    assert.equal(await failing(), null)
    await refused({ proven: true, reason: 'invalid_scope' })
    assert.equal((await failing()).since, isoNow())
  })

  it('does not count a stranger’s wrong secrets against a client that runs each night', async () => {
    await issued()
    await noted.issued((await owner.createClient()).clientId, { address: STRANGER })
    api.clock.advance(8 * HOUR_MS)
    await refused({ address: STRANGER }, 60)
    assert.equal(await failing(), null)
    api.clock.advance(16 * HOUR_MS - 1)
    await refused({ address: STRANGER })
    assert.equal(await failing(), null)
    api.clock.advance(1)
    assert.partialDeepStrictEqual(await failing(), { address: STRANGER, senderKnown: false })
  })

  for (const [where, address, senderKnown] of [
    ['the same IPv6 network', '2001:db8:1:2:ffff::9', true],
    ['another IPv6 network', '2001:db8:1:3::7', false],
  ] as const)
    it(`says whether it knows the sender of a wrong secret from ${where}`, async () => {
      await issued('2001:db8:1:2::7')
      api.clock.advance(24 * HOUR_MS)
      await refused({ address })
      assert.partialDeepStrictEqual(await failing(), { address, senderKnown })
    })

  it('names the client’s own reason, however many wrong secrets a stranger sends after it', async () => {
    await issued()
    api.clock.advance(HOUR_MS)
    await refused({ proven: true, reason: 'invalid_scope', code: 'invalid_scope', status: 400 })
    api.clock.advance(HOUR_MS)
    await refused({ address: STRANGER }, 60)
    const expected = { cause: 'invalid_scope', address: OWN, senderKnown: true }
    assert.partialDeepStrictEqual(await failing(), expected)
    api.clock.advance(1)
    await refused()
    assert.equal((await failing()).cause, 'wrong_secret')
  })

  it('counts any wrong secret of a client that never had a token, and says who may have sent it', async () => {
    api.clock.advance(1)
    await refused({ address: STRANGER })
    assert.partialDeepStrictEqual(await failing(), { since: isoNow(), senderKnown: false })
  })

  it('says since when for 14 days, by the hour, though refusals are kept for one', async () => {
    await issued()
    api.clock.advance(2 * HOUR_MS)
    const other = await owner.createClient()
    await refused({ clientId: other.clientId })
    api.clock.advance(HOUR_MS)
    const first_ms = api.clock.now()
    for (let day = 0; day < 3; day += 1) {
      await refused()
      api.clock.advance(23 * HOUR_MS)
    }
    assert.equal((await failing()).since, new Date(first_ms - (first_ms % HOUR_MS)).toISOString())
  })

  it('says nothing of a client that no longer asks, nor of one that asked before it was Revoked', async () => {
    await refused({ proven: true })
    assert.notEqual(await failing(), null)
    api.clock.advance(1_000)
    await revoke()
    assert.equal(await failing(), null)
    ;({ clientId } = await owner.createClient({ createdAt: new Date(api.clock.now()) }))
    await refused({ proven: true })
    api.clock.advance(24 * HOUR_MS)
    assert.equal(await failing(), null)
  })

  it('reads six refusals at most of each of 60 clients that were refused 50 times', async () => {
    for (let made = 1; made < 60; made += 1) await owner.createClient()
    const { clients } = await read('?limit=200')
    for (const proven of [true, false])
      await noted.answered(
        ...clients.flatMap((one: { clientId: string }) => refusals({ clientId: one.clientId, proven }, 25)),
      )
    await admin.config('RESETSTAT')
    const page = await read('?status=Active&limit=200')
    assert.equal(page.clients.filter((one: { failing: unknown }) => one.failing).length, 60)
    const keysRead = Number(/keyspace_hits:(\d+)/.exec(await admin.info('stats'))?.[1])
    // Five records, and four reads of an order each. Other work of the API reads a few keys.
    assert.ok(keysRead >= 540 && keysRead < 900, `${keysRead} keys`)
  })

  it('passes over what it cannot read in Redis', async () => {
    await refused({ proven: true, requestId: 'unreadable' })
    await admin.set(redisKeys.refusal(owner.vendorId, 'unreadable'), '{"at_ms":')
    assert.equal(await failing(), null)
    await admin.del(redisKeys.refusal(owner.vendorId, 'unreadable'))
    assert.equal(await failing(), null)
    api.clock.advance(1)
    await refused({ proven: true })
    assert.equal((await failing()).cause, 'wrong_secret')
  })

  it('marks a Revoked client that still asks with its own secret, not one that a stranger asks for', async () => {
    await revoke()
    api.clock.advance(1_000)
    await refused({ address: STRANGER })
    assert.equal(await failing(), null)
    api.clock.advance(1_000)
    await refused({ proven: true, reason: 'revoked_client' })
    assert.partialDeepStrictEqual(await failing(), { cause: 'revoked_client', senderKnown: true })
  })

  it('says that it does not know without Redis, and lists the clients all the same', async () => {
    await refused({ proven: true })
    assert.equal((await read()).failingKnown, true)
    await api.redis.stop('SIGKILL')
    assert.partialDeepStrictEqual(await read(), { failing: null, failingKnown: false })
    assert.equal((await read('?status=Active')).clients.length, 1)
    await api.redis.start()
  })
})
