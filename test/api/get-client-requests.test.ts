import assert from 'node:assert/strict'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import type { AnsweredRequest } from '#shared/usage/client-usage.ts'
import { freshOwner, sharedApi } from '../support/api.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { createTestUsage, sharedUsage } from '../support/client-usage.ts'
import { eventually } from '../support/eventually.ts'
import { assertProblem } from '../support/problem.ts'

const DAY_MS = 24 * 3_600_000

type Listed = { requestId: string; cause: string | null }

const FOREIGN = "The path names a different company from the client's."
const INVALID = 'A field was invalid: ?from must be a date, YYYY-MM-DD.'
const EXPLAINED = {
  200: [null, null, null],
  403: ['forbidden', FOREIGN, 'Put the id of your own company in the path.'],
  422: ['invalid_input', INVALID, 'The errors in the response name each invalid field and the reason.'],
  500: [null, null, null],
}

describe('GET /v1/vendor/{vendor_id}/oauth-clients/{client_id}/requests', () => {
  const api = sharedApi()
  const noted = sharedUsage(api)
  const owner = freshOwner(api)
  const admin = forBlock(() => api.redis.connect('admin'))
  let clientId: string
  beforeEach(async () => {
    ;({ clientId } = await owner.createClient())
  })

  const list = async () =>
    owner.request('GET', `oauth-clients/${clientId}/requests`, {
      token: await api.createSession(owner.userId),
    })
  const listed = async (): Promise<Listed[]> => (await list()).json.requests
  const listedOf = async (count: number): Promise<Listed[]> => {
    await eventually(async () => (await listed()).length === count)
    return listed()
  }
  const ids = async () => (await listed()).map(({ requestId }) => requestId)
  const granted = { route: 'POST /v1/oauth/token', status: 200, address: '192.0.2.1', proven: true }
  const wrongSecret = { status: 401, code: 'invalid_client', reason: 'wrong_secret', proven: false }
  const overRate = { status: 429, code: 'temporarily_unavailable', reason: 'rate_of_client' }
  const answered = (...requests: Partial<AnsweredRequest>[]) => {
    const request = { clientId, vendorId: owner.vendorId, ...granted }
    return noted.answered(...requests.map((one) => ({ ...request, requestId: crypto.randomUUID(), ...one })))
  }
  const named = (name: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({ requestId: `${name}-${n}` }))
  const logKey = (id = clientId) => redisKeys.requests(owner.vendorId, id)
  const daily = (token: string, search = '', company = owner.vendorId) =>
    api.request('GET', `/v1/analytics/${company}/daily${search}`, { token })

  it('lists what this API granted and refused within seconds, by route and without anything that was sent', async () => {
    const token = await api.issuer.token({ clientId, vendorId: owner.vendorId })
    const good = await daily(token)
    const bad = await daily(token, '?from=some-secret')
    const other = await daily(token, '', 'ven_other')
    await api.db.raw('alter table analytics_revisions rename to gone')
    const failed = await daily(token)
    await api.db.raw('alter table gone rename to analytics_revisions')
    const requests = await listedOf(4)
    const base = { at: new Date(api.clock.now()).toISOString(), service: 'api', address: '127.0.0.1' }
    const route = 'GET /v1/analytics/{vendorId}/daily'
    const byId = new Map(requests.map((one) => [one.requestId, one]))
    for (const [{ headers }, status, code] of [
      [good, 200, null],
      [bad, 422, 'invalid_input'],
      [other, 403, 'forbidden'],
      [failed, 500, 'internal'],
    ] as const) {
      const requestId = headers.get('x-request-id') ?? ''
      const [cause, reason, advice] = EXPLAINED[status]
      const explained = { cause, reason, advice, code }
      assert.deepEqual(byId.get(requestId), { ...base, route, requestId, status, ...explained })
    }
    const texts = (await admin.lrange(logKey(), 0, -1)).join()
    for (const sent of [token, 'some-secret', 'ven_other']) assert.ok(!texts.includes(sent), texts)
  })

  it('lists the authorization server’s, newest first, whichever process wrote first', async () => {
    await answered({ requestId: 'second' })
    api.clock.advance(-1_000)
    await answered({ requestId: 'first', route: 'POST /v1/oauth/revoke' })
    api.clock.advance(2_000)
    await answered({ requestId: 'third', ...overRate })
    const { requests, skipped } = (await list()).json
    const good = { service: 'auth', route: granted.route, status: 200, code: null, cause: null }
    assert.deepEqual([requests.length, skipped], [3, 0])
    assert.partialDeepStrictEqual(requests, [
      { ...good, requestId: 'third', status: 429, code: overRate.code, cause: overRate.reason },
      { ...good, requestId: 'second' },
      { ...good, requestId: 'first', route: 'POST /v1/oauth/revoke' },
    ])
  })

  it('keeps the last 200, from one flush or several', async () => {
    await answered(...named('a', 150))
    await answered(...named('b', 150))
    const found = await ids()
    assert.equal(found.length, 200)
    assert.equal(found.filter((id) => id.startsWith('b')).length, 150)
    assert.ok(found.includes('a-149') && found.includes('a-100') && !found.includes('a-99'))
    await answered(...named('c', 450))
    const last = await ids()
    assert.deepEqual([last.length, last.includes('c-449'), last.includes('c-250')], [200, true, true])
    assert.equal(await admin.llen(logKey()), 200)
  })

  it('shows wrong secrets, but a stranger who sends them pushes nothing out and adds nothing to the log', async () => {
    await answered({ requestId: 'real' })
    const before = await admin.memory('USAGE', logKey())
    for (let flush = 0; flush < 5; flush += 1)
      await answered(...named(`stranger-${flush}`, 300).map((one) => ({ ...one, ...wrongSecret })))
    const found = await listed()
    assert.equal(found.filter(({ requestId }) => requestId.startsWith('stranger')).length, 50)
    assert.ok(found.every(({ cause, requestId }) => (cause === null) === (requestId === 'real')))
    assert.ok(found.some(({ requestId }) => requestId === 'real'))
    assert.equal(await admin.memory('USAGE', logKey()), before)
  })

  it('adds no refusal from before a log that is full, where granted requests are missing', async () => {
    await answered({ requestId: 'early', ...wrongSecret }, { requestId: 'early-proven', ...overRate })
    api.clock.advance(1_000)
    await answered(...named('granted', 200))
    api.clock.advance(1_000)
    await answered({ requestId: 'late', ...wrongSecret })
    const { requests, since } = (await list()).json
    assert.deepEqual([requests.length, requests[0].requestId], [201, 'late'])
    assert.deepEqual([requests.at(-1).at, requests.at(-1).status], [since, 200])
  })

  it('is complete once the process has stopped, with what was just being written', async () => {
    const usage = createTestUsage(await api.redis.connect('auth'), api.apiDb, api.clock)
    const ids = Array.from({ length: 300 }, (_, n) => `cli_${n}`)
    for (const id of ids)
      usage.recordRequest({ clientId: id, vendorId: owner.vendorId, ...granted, ...overRate, requestId: id })
    void usage.flush()
    await usage.stop()
    assert.equal(await admin.llen(logKey('cli_299')), 1)
  })

  it('is forgotten two weeks after the last request', async () => {
    await answered({}, { clientId: 'cli_other' })
    assert.equal(await admin.llen(logKey('cli_other')), 1)
    await admin.pexpire(logKey(), 1_000)
    await answered({})
    const left_ms = await admin.pttl(logKey())
    assert.ok(left_ms > 14 * DAY_MS - 60_000 && left_ms <= 14 * DAY_MS, `${left_ms}`)
    assert.ok((await admin.pttl(redisKeys.requestLogs(owner.vendorId))) > 360 * DAY_MS)
  })

  it('keeps the logs of 200 clients of a company: those that began last', async () => {
    const clients = Array.from({ length: 205 }, (_, n) => `cli_${String(n).padStart(22, '0')}`)
    for (const id of clients) {
      api.clock.advance(1)
      await answered({ clientId: id })
    }
    const kept = await Promise.all(clients.map((id) => admin.exists(logKey(id))))
    assert.deepEqual(kept, [...Array(5).fill(0), ...Array(200).fill(1)])
    assert.equal(await admin.zcard(redisKeys.requestLogs(owner.vendorId)), 200)
    assert.equal(Date.parse((await list()).json.since), api.clock.now(), 'another may just have been dropped')
  })

  it('claims nothing of a client from before Redis lost its data, even if nothing was sent since', async () => {
    await answered({})
    api.clock.advance(1_000)
    await admin.flushall()
    await answered({ clientId: 'cli_other' })
    const lost_ms = api.clock.now()
    api.clock.advance(1_000)
    const since = async () => Date.parse((await list()).json.since)
    assert.deepEqual([await listed(), await since()], [[], lost_ms])
    await answered({})
    assert.equal(await since(), lost_ms)
    ;({ clientId } = await owner.createClient())
    assert.equal(await since(), api.clock.now() - 14 * DAY_MS)
  })

  it('takes at most 50 KB of Redis for a client, however long its addresses and codes are', async () => {
    const route = 'GET /v1/analytics/{vendorId}/daily'
    const address = '2001:db8:1234:5678:9abc:def0:1234:5678'
    const long = { route, address, status: 429, code: 'temporarily_unavailable' }
    await answered(...Array.from({ length: 250 }, () => long))
    const bytes = Number(await admin.memory('USAGE', logKey(), 'SAMPLES', 0))
    assert.ok(bytes < 50_000, `${bytes} bytes`)
  })

  it('skips and counts what it cannot read, and hides no refusal because of it', async () => {
    await answered(wrongSecret)
    api.clock.advance(1_000)
    await answered({ requestId: 'good' })
    const [good = ''] = await admin.lrange(logKey(), 0, -1)
    const bad = ['', good.replace(/^\d/, '9999$&'), good.replace(' 200 ', ' 2xx '), `${good} more`]
    await admin.rpush(logKey(), ...bad)
    const { status, json } = await list()
    assert.equal(status, 200)
    assert.deepEqual([json.requests.length, json.skipped], [2, bad.length])
    assert.equal(Date.parse(json.since), api.clock.now() - 14 * DAY_MS)
    await admin.rpush(logKey(), ...Array(200).fill('unreadable'))
    const { requests, since } = (await list()).json
    assert.deepEqual([requests, since], [json.requests, json.requests[0].at])
  })

  it('still records a refusal while the log cannot be written', async () => {
    await admin.set(logKey(), 'no list')
    await answered({ requestId: 'refused', ...overRate })
    assert.equal(await admin.exists(redisKeys.refusal(owner.vendorId, 'refused')), 1)
  })

  it('has room for the requests of 50 busy clients again once those before are stored', async () => {
    const usage = createTestUsage(await api.redis.connect('auth'), api.apiDb, api.clock)
    const record = (id: string, requestId: string) =>
      usage.recordRequest({ clientId: id, vendorId: owner.vendorId, ...granted, requestId })
    for (let n = 0; n < 50 * 200; n += 1) record(`cli_${n % 50}`, `early-${n}`)
    record(clientId, 'surplus')
    await usage.flush()
    record(clientId, 'later')
    await usage.flush()
    assert.deepEqual(await ids(), ['later'])
  })

  it('keeps requests until Redis is back', async () => {
    const redis = await api.redis.connect('auth')
    const usage = createTestUsage(redis, api.apiDb, api.clock)
    await api.redis.stop('SIGTERM')
    await eventually(() => redis.status !== 'ready')
    for (const { requestId } of named('a', 3))
      usage.recordRequest({ clientId, vendorId: owner.vendorId, ...granted, requestId })
    await usage.flush()
    await api.redis.start()
    await eventually(() => redis.status === 'ready')
    await usage.flush()
    await eventually(async () => (await list()).json.requests?.length === 3)
  })

  it('answers 503 while Redis is down', async () => {
    await api.redis.stop('SIGTERM')
    await using _ = afterwards(() => api.redis.start())
    assertProblem(await list(), 'unavailable')
  })
})
