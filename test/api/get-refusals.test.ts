import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import { insertRevokedToken } from '#shared/revocation/state.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import type { AnsweredRequest } from '#shared/usage/client-usage.ts'
import { explainRefusal as explanationOf } from '../../apps/api/refusals/reasons.ts'
import { type ApiResponse, freshOwner, readPages, sharedApi } from '../support/api.ts'
import { forBlock } from '../support/block.ts'
import { sharedUsage } from '../support/client-usage.ts'
import { eventually } from '../support/eventually.ts'
import { assertProblem } from '../support/problem.ts'

const DAY_MS = 24 * 3_600_000

type Listed = { requestId: string }

describe('the explanation of a refused request', () => {
  it('names no key and no time of a client that could not be read', () => {
    const refused = { at_ms: 0, clientId: 'cli_x', requestId: 'r', route: 'GET /', status: 400, code: 'c' }
    for (const reason of ['assertion_wrong_key', 'expired_client'])
      for (const sentence of Object.values(explanationOf({ ...refused, reason }, undefined)))
        assert.doesNotMatch(sentence, /undefined|null/)
  })
})

describe('the refused requests of clients', () => {
  const api = sharedApi()
  const noted = sharedUsage(api)
  const owner = freshOwner(api)
  let clientId: string
  const admin = forBlock(() => api.redis.connect('admin'))
  beforeEach(async () => {
    ;({ clientId } = await owner.createClient({ name: 'Warehouse' }))
  })

  const list = async (search = '', person = owner) =>
    person.request('GET', `refusals${search}`, { token: await api.createSession(person.userId) })
  const ids = async (search = '') =>
    (await list(search)).json.refusals.map(({ requestId }: Listed) => requestId)
  const explain = async (requestId: string, person = owner) =>
    person.request('GET', `refusals/${requestId}`, { token: await api.createSession(person.userId) })
  const refusal = { route: 'POST /v1/oauth/token', address: '192.0.2.1', proven: true, status: 429 }
  const overRate = { ...refusal, code: 'temporarily_unavailable', reason: 'rate_of_client' }
  const note = (...refused: Partial<AnsweredRequest>[]) => {
    const request = { clientId, vendorId: owner.vendorId, ...overRate }
    return noted.answered(...refused.map((one) => ({ ...request, requestId: crypto.randomUUID(), ...one })))
  }
  async function soon(response: ApiResponse): Promise<ApiResponse> {
    const find = async () => {
      const explained = await explain(response.headers.get('x-request-id') ?? '')
      return explained.status === 200 && explained
    }
    return eventually(find, { every_ms: 100 })
  }
  const daily = (token: string, search = '', company = owner.vendorId) =>
    api.request('GET', `/v1/analytics/${company}/daily${search}`, { token })

  describe('by the resource API', () => {
    const token = (claims: { scope?: string } = {}) =>
      api.issuer.token({ clientId, vendorId: owner.vendorId, ...claims })
    const kept = (kind: 'proven' | 'unproven') =>
      admin.zcard(redisKeys.refusals(kind, owner.vendorId, clientId))

    it('explains an expired token, which anyone may have found, so it pushes nothing out', async () => {
      const expired = await token()
      api.clock.advance(901_000)
      const { json } = await soon(await daily(expired))
      assert.deepEqual([json.code, json.reason], ['invalid_token', 'The access token had expired.'])
      assert.deepEqual([await kept('proven'), await kept('unproven')], [0, 1])
    })

    it('explains a revoked client, by whom and when', async () => {
      const good = await token()
      const replacement = await owner.createClient({ replaces: clientId })
      await owner.request('POST', `oauth-clients/${clientId}/revoke`)
      const { json } = await soon(await daily(good))
      assert.ok(json.advice.startsWith(`Deploy its replacement, ${replacement.clientId}`))
      assert.match(json.reason, /^The client was revoked at \d{4}-\d\d-\d\dT[\d:.]+Z by A owner\.$/)
      assert.equal(json.status, 401)
    })

    it('explains a revoked token of an Active client, which pushes nothing out either', async () => {
      const good = await token()
      const jti = decodeJwt(good).jti as string
      await insertRevokedToken(api.db, { jti, clientId, expiresAt: new Date(Date.now() + 900_000) })
      await admin.set(redisKeys.revoked('token', jti), '1')
      const { json } = await soon(await daily(good))
      assert.equal(json.reason, 'The access token or its signing key was revoked.')
      assert.match(json.advice, /new token/)
      assert.deepEqual([await kept('proven'), await kept('unproven')], [0, 1])
    })

    it('explains a bad field, without the caller’s values or made-up names', async () => {
      const secret = 'ias_0123456789abcdefghij'
      const { json } = await soon(
        await daily(await token(), `?from=${secret}&${secret}=1&hunter2=1&hunter2=2`),
      )
      const reason = 'A field was invalid: ?from must be a date, YYYY-MM-DD.'
      assert.deepEqual([json.code, json.reason], ['invalid_input', reason])
      const occurredAt = new Date(api.clock.now()).toISOString()
      const events = [{ eventId: 'a', type: 'click', occurredAt, hunter2: 1, amountMinor: 1 }]
      const writer = await token({ scope: 'analytics:write' })
      const path = `/v1/analytics/${owner.vendorId}/events`
      const reported = await soon(await api.request('POST', path, { token: writer, body: { events } }))
      const field = 'A field was invalid: /events/0/amountMinor is not a known field for this type.'
      assert.equal(reported.json.reason, field)
      const kept = await admin.mget(await admin.keys('refusals:record:*'))
      assert.ok(kept.join('').includes(json.requestId))
      for (const foreign of [secret, 'hunter2']) assert.equal(kept.join('').includes(foreign), false)
    })

    it('explains a body that could not be read', async () => {
      const path = `/v1/analytics/${owner.vendorId}/events`
      const writer = await token({ scope: 'analytics:write' })
      const post = (body: string, headers = {}) => api.request('POST', path, { token: writer, body, headers })
      const refused = [await post('{'), await post('{}', { 'content-type': 'text/plain' })]
      refused.push(await post(`"${'x'.repeat(1_100_000)}"`))
      const reasons = refused.map(async (response) => (await soon(response)).json.reason)
      assert.deepEqual(await Promise.all(reasons), [
        'The body was not valid JSON in UTF-8, or ended too early.',
        'The body was not sent as plain JSON.',
        'The body was too large.',
      ])
    })

    it('keeps no refusal of a token that no one signed', async () => {
      const [header, payload] = (await token()).split('.')
      const response = await daily(`${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`)
      assertProblem(response, 'invalid_token')
      await soon(await daily(await token({ scope: 'boost:read' })))
      assertProblem(await explain(response.headers.get('x-request-id') ?? ''), 'not_found')
    })
  })

  it('says that a request was granted, whichever of its clients sent it, and only to its company', async () => {
    for (let n = 0; n < 11; n += 1) await note({ clientId: (await owner.createClient()).clientId })
    const granted = { status: 200, code: undefined, reason: undefined }
    await note({ requestId: 'granted', ...granted }, ...Array.from({ length: 199 }, () => granted))
    const { at, ...answer } = (await explain('granted')).json
    assert.equal(at, new Date(api.clock.now()).toISOString())
    const { route, address } = refusal
    const unexplained = { cause: null, code: null, reason: null, advice: null }
    assert.deepEqual(answer, { requestId: 'granted', clientId, route, address, status: 200, ...unexplained })
    for (const [id, person] of [
      ['granted', await api.createOwner()],
      ['grante', owner],
      ['200', owner],
      ['POST', owner],
    ] as const)
      assertProblem(await explain(id, person), 'not_found')
  })

  it('keeps the newest 200 of a client, which push out none of another, and wrong secrets push none out', async () => {
    for (let batch = 0; batch < 5; batch += 1) {
      api.clock.advance(1_000)
      await note(...Array.from({ length: 50 }, (_, index) => ({ requestId: `${batch}-${index}` })))
    }
    api.clock.advance(1_000)
    await note({ requestId: 'quiet', clientId: (await owner.createClient()).clientId })
    const guesses = Array.from({ length: 500 }, () => ({ proven: false, reason: 'wrong_secret' }))
    for (const flush of [guesses, guesses]) await note(...flush)
    const listed = await readPages<Listed>(list, 'refusals', `clientId=${clientId}&limit=100`)
    const seen = new Set(listed.map(({ requestId }) => requestId))
    assert.deepEqual([listed.length, seen.size, seen.has('1-0'), seen.has('0-49')], [250, 250, true, false])
    assert.equal((await explain('quiet')).status, 200)
    assert.equal((await list()).json.refusals.length, 50)
    assert.equal((await admin.keys(`${redisKeys.refusal(owner.vendorId, '')}*`)).length, 251)
  })

  it('keeps the newest refusals when more come at once than fit', async () => {
    await note(...Array.from({ length: 201 }, (_, index) => ({ requestId: `flood-${index}` })))
    assertProblem(await explain('flood-0'), 'not_found')
    for (const kept of ['flood-1', 'flood-200']) assert.equal((await explain(kept)).status, 200)
  })

  it('counts the refusals of more clients than a process holds, and keeps the first', async () => {
    const clients = [clientId]
    while (clients.length < 51) clients.push((await owner.createClient()).clientId)
    const unproven = clients.flatMap((id) => Array(50).fill({ clientId: id, proven: false }))
    await note(...unproven, { requestId: 'proven' })
    assert.equal(await admin.zcard(redisKeys.refusalCounts('unproven', owner.vendorId)), 50)
    assert.equal((await explain('proven')).status, 200)
    const { json } = await owner.request('GET', `oauth-clients/${clients[50]}/usage`)
    assert.equal(json.minutes.at(-1).refused, 50)
  })

  it('keeps 2,000 refusals of a company, and pushes out those of the clients that have most', async () => {
    const noisy: string[] = []
    while (noisy.length < 9) noisy.push((await owner.createClient()).clientId)
    await note({ requestId: 'quiet' }, { requestId: 'quiet-unproven', proven: false })
    const flood = (times: number, proven: boolean) =>
      noisy.flatMap((clientId) =>
        Array.from(Array(times), (_, n) => ({ clientId, requestId: `${clientId}-${proven}-${n}`, proven })),
      )
    api.clock.advance(1)
    await note(...flood(200, true), ...flood(50, false))
    const records = await admin.keys(`${redisKeys.refusal(owner.vendorId, '')}*`)
    const ofKind = (kind: string) => records.filter((key) => key.includes(kind)).length
    assert.deepEqual([ofKind('-true-'), ofKind('-false-'), ofKind('quiet')], [1_599, 399, 2])
    for (const kind of ['proven', 'unproven'] as const) {
      const positions = await admin.zcard(redisKeys.refusals(kind, owner.vendorId))
      assert.equal(positions, { proven: 1_600, unproven: 400 }[kind])
      const ofEach = noisy.map((id) => admin.zcard(redisKeys.refusals(kind, owner.vendorId, id)))
      const counts = (await Promise.all(ofEach)).sort((a, b) => a - b)
      assert.ok((counts.at(-1) ?? 0) - (counts[0] ?? 0) <= 1, `${kind}: ${counts}`)
    }
    const newest = noisy.flatMap((id) => [`${id}-true-199`, `${id}-false-49`])
    for (const kept of ['quiet', 'quiet-unproven', ...newest]) assert.equal((await explain(kept)).status, 200)
  })

  it("keeps a client's only refusal while there are older ones, also if no client has two", async () => {
    const only = (id: string) => ({ clientId: id, requestId: `only-${id}`, proven: false })
    const others = Array.from({ length: 400 }, (_, n) => only(`cli_${n}`))
    await note(...others)
    api.clock.advance(1)
    await note(only('cli_99999'))
    assert.equal((await explain('only-cli_99999')).status, 200)
    const fifty = others.slice(0, 8).flatMap((one) => Array(50).fill(one))
    await note(...fifty.map((one, n) => ({ ...one, requestId: `${n}` })))
    await admin.del(redisKeys.refusalCounts('unproven', owner.vendorId))
    api.clock.advance(1)
    await note(only(clientId))
    assert.equal((await explain(`only-${clientId}`)).status, 200)
    assert.equal(await admin.zcard(redisKeys.refusals('unproven', owner.vendorId)), 400)
  })

  it('counts no refusal older than a day against the limit of a company', async () => {
    await note({ requestId: 'old' })
    api.clock.advance(DAY_MS + 1)
    await note({ clientId: (await owner.createClient()).clientId })
    assert.equal(await admin.zcard(redisKeys.refusals('proven', owner.vendorId)), 1)
  })

  it('gives every refusal key a lifetime of a day', async () => {
    await note({}, { proven: false })
    const keys = await admin.keys('refusals:*')
    assert.ok(keys.length >= 6)
    for (const key of keys.filter((one) => one.includes(owner.vendorId) || one.includes(clientId))) {
      const left_ms = await admin.pttl(key)
      assert.ok(left_ms > DAY_MS - 60_000 && left_ms <= DAY_MS, `${key}: ${left_ms}`)
    }
  })

  it('leaves out unreadable refusals, and shows the others', async () => {
    await note(...['good', 'no-json', 'no-record', 'gone'].map((requestId) => ({ requestId })))
    await admin.set(redisKeys.refusal(owner.vendorId, 'no-json'), 'not json')
    const part = JSON.stringify({ requestId: 'no-record', at_ms: api.clock.now() })
    await admin.set(redisKeys.refusal(owner.vendorId, 'no-record'), part)
    await admin.del(redisKeys.refusal(owner.vendorId, 'gone'))
    assert.deepEqual(await ids(), ['good'])
    for (const requestId of ['no-json', 'no-record', 'gone'])
      assert.equal((await explain(requestId)).json.reason, null)
  })

  it('lists refusals in pages without gap or repeat, even within one millisecond', async () => {
    const clients = [clientId]
    while (clients.length < 11) clients.push((await owner.createClient()).clientId)
    const noted: string[] = []
    for (const [index, id] of [...clients, ...clients].entries()) {
      const some = ['a', 'b', 'c'].map((letter) => `${letter}${index}`)
      noted.push(...some)
      await note(...some.map((requestId, n) => ({ clientId: id, requestId, proven: n > 0 })))
      if (index % 4 === 3) api.clock.advance(1)
    }
    const listed = (await readPages<Listed>(list, 'refusals', 'limit=7')).map(({ requestId }) => requestId)
    assert.equal(listed.length, 66)
    assert.deepEqual([...listed].sort(), noted.sort())
  })

  it('forgets refusals after 24 hours', async () => {
    await note({ requestId: 'old' }, { requestId: 'as old', proven: false })
    api.clock.advance(DAY_MS - 1)
    for (const requestId of ['old', 'as old']) assert.notEqual((await explain(requestId)).json.reason, null)
    api.clock.advance(1)
    // That the client sent it is still known.
    assert.equal((await explain('old')).json.reason, null)
    assertProblem(await explain('as old'), 'not_found')
    assert.deepEqual((await list('?limit=1')).json, { refusals: [], nextCursor: null })
  })

  it('knows no refusals without Redis, which disturbs nothing else', async () => {
    await api.redis.stop('SIGKILL')
    assertProblem(await list(), 'unavailable')
    const token = await api.issuer.token({ clientId, vendorId: owner.vendorId, scope: 'boost:read' })
    assert.equal((await daily(token)).status, 403)
    await api.redis.start()
  })
})
