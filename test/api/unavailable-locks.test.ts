import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { sharedApi, startApi, TEST_PASSWORD } from '../support/api.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { assertProblem } from '../support/problem.ts'
import { allButOne, askWhileLocked, lockTable, PATIENT, untilBlocked } from '../support/stores.ts'

describe('when somebody else holds a lock on a table', () => {
  const api = sharedApi({ timeouts: { ...PATIENT, statementTimeout_ms: 3_000 } })
  const owner = forBlock(() => api.createOwner())
  const client = forBlock(() => owner.createClient())
  let lock: Knex.Transaction
  // Connecting for the first time takes a busy machine longer than a request waits.
  before(() => eventually(async () => (await read()).status === 200))
  afterEach(() => lock.rollback())

  const read = async () => {
    const token = await api.issuer.token(client)
    return api.request('GET', `/v1/analytics/${client.vendorId}/daily`, { token })
  }
  /** More requests of the workspace than there are connections. */
  const people = (path: string) =>
    Array.from({ length: 20 }, () => api.request('GET', path, { token: owner.sessionToken }))

  async function readsWhile(waiting: Promise<unknown>[]): Promise<number[]> {
    let answered = 0
    for (const each of waiting) void each.then(() => (answered += 1))
    // What is remembered of the company has to be read again.
    api.clock.advance(60_000)
    const statuses: number[] = []
    for (let i = 0; i < 10; i += 1) statuses.push((await read()).status)
    assert.ok(answered < waiting.length, 'the lock held nobody up')
    return statuses
  }

  for (const [table, path] of [
    ['sessions', () => '/v1/session'],
    ['memberships', () => `/v1/vendor/${client.vendorId}/oauth-clients`],
  ] as const)
    it(`answers people 503 with Retry-After while ${table} is locked, and integrators as ever`, async () => {
      lock = await lockTable(api.db, table)
      const waiting = people(path())
      assert.deepEqual(await readsWhile(waiting), Array(10).fill(200))
      for (const answer of await Promise.all(waiting)) assertProblem(answer, 'unavailable')
    })

  it('lets Postgres decide while sessions is locked and Redis is gone', async () => {
    await api.redis.stop('SIGKILL')
    await using _ = afterwards(() => api.redis.start())
    lock = await lockTable(api.db, 'sessions')
    const waiting = people('/v1/session')
    assert.deepEqual(await readsWhile(waiting), Array(10).fill(200))
    assert.equal((await api.request('GET', '/readyz')).status, 200)
    await Promise.all(waiting)
  })
})

describe('when only one of its deadlines is that of production', () => {
  const STORE = 'A backing service is unavailable. Try again shortly.'

  for (const [deadline, table, detail] of [
    ['connectTimeout_ms', 'sessions', STORE],
    ['statementTimeout_ms', 'callback_destinations', STORE],
    [
      'turn_ms',
      'callback_destinations',
      'Too many requests for this company are waiting. Try again shortly.',
    ],
    ['request_ms', 'callback_destinations', 'The request timed out. Try again shortly.'],
  ] as const)
    it(`answers 503 within seconds by ${deadline} while ${table} is locked`, async () => {
      await using api = await startApi({ timeouts: allButOne(deadline) })
      const owner = await api.createOwner()
      assert.equal((await owner.request('GET', 'callback-url')).status, 200)
      const lock = await lockTable(api.db, table)
      const from_ms = performance.now()
      const waiting = Array.from({ length: 20 }, () => owner.request('GET', 'callback-url'))
      const first = await Promise.race(waiting)
      const took_ms = performance.now() - from_ms
      await lock.rollback()
      await Promise.all(waiting)
      assertProblem(first, 'unavailable')
      assert.equal(first.json.detail, detail)
      assert.ok(took_ms < 30_000, `${took_ms} ms`)
    })

  it('uses up no invitation that it has answered with 503', async () => {
    await using api = await startApi({ timeouts: { ...PATIENT, request_ms: 4_000 } })
    const token = await (await api.createOwner()).invite('kim@people.example')
    const accept = () => api.request('POST', '/v1/invitation', { body: { token, password: TEST_PASSWORD } })
    assertProblem(await askWhileLocked(api.db, 'sessions', accept), 'unavailable')
    assert.equal((await accept()).status, 201)
  })

  it('begins nothing once it has answered a change that waited for its turn with 503', async () => {
    await using api = await startApi({ timeouts: { ...PATIENT, request_ms: 2_000, ownRequest_ms: 2_000 } })
    const owner = await api.createOwner()
    const path = `oauth-clients/${(await owner.createClient({ name: 'Old' })).clientId}`
    const lock = await lockTable(api.db, 'callback_destinations')
    const holding = [owner.request('GET', 'callback-url'), owner.request('GET', 'callback-url')]
    await untilBlocked(api.db, 2)
    assertProblem(await owner.request('PATCH', path, { body: { name: 'New' } }), 'unavailable')
    const callbackUrl = 'https://hooks.example.com/'
    assertProblem(await owner.request('PATCH', 'callback-url', { body: { callbackUrl } }), 'unavailable')
    await lock.rollback()
    await Promise.all(holding)
    await sleep(500)
    assert.equal((await owner.request('GET', path)).json.name, 'Old')
    assert.equal((await owner.request('GET', 'callback-url')).json.callbackUrl, null)
  })

  it('creates no client that it has answered with 503', async () => {
    await using api = await startApi({ timeouts: { ...PATIENT, request_ms: 4_000, ownRequest_ms: 4_000 } })
    const owner = await api.createOwner()
    const create = () =>
      owner.request('POST', 'oauth-clients', { body: { name: 'N', scopes: ['boost:read'] } })
    assertProblem(await askWhileLocked(api.db, 'activity', create), 'unavailable')
    assert.equal((await create()).status, 201)
    assert.equal((await owner.request('GET', 'oauth-clients')).json.clients.length, 1)
  })

  it('changes no password that it has answered with 503', async () => {
    await using api = await startApi({ timeouts: { ...PATIENT, request_ms: 4_000 } })
    const { sessionToken: token } = await api.createOwner()
    const body = { currentPassword: TEST_PASSWORD, newPassword: 'wrong donkey capacitor nail' }
    const change = () => api.request('PUT', '/v1/session/password', { token, body })
    assertProblem(await askWhileLocked(api.db, 'mails', change), 'unavailable')
    assert.equal((await change()).status, 204)
  })
})
