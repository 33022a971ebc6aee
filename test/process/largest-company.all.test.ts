import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { newClientSecret, newInvitationToken, newUserId } from '../../apps/api/accounts/new-ids.ts'
import { insertUser } from '../../apps/api/accounts/people.ts'
import { createDiscovery } from '../../apps/api/discovery/routes.ts'
import { ROUTES } from '../../apps/api/routes.ts'
import { registerService } from '../../infra/admin/services.ts'
import { sharedApi, TEST_PASSWORD } from '../support/api.ts'
import { sharedAuth, type TestClient, tokenFields } from '../support/auth.ts'
import { createTestClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'
import { testOperator } from '../support/operator.ts'
import { threadCpu_ms } from '../support/thread-cpu.ts'
import { DAYS, fillLargestCompany, type LargestCompany } from './largest-company.ts'

/**
 * How long the process serves no one else, be it in one turn of the event loop or in several that are due.
 */
const REQUEST_MAX_MS = 50
/**
 * The work of a request happens on each try. On some, code is compiled and garbage collected, and on most of
 * a busy machine, caches and cores are shared, which more than doubles the CPU time of the same work.
 */
const TRIES = 40
/** How long a page of revocations is served, and how large it may be. */
const PAGE_LIFE_MS = 1_000
const PAGE_MAX_BYTES = 2_600_000
const DAY_MS = 24 * 3_600_000

interface Sent {
  path?: string
  query?: string
  /** In place of the owner's session. */
  token?: string
  body?: unknown
  form?: Record<string, string | undefined>
  status?: number
}

/** What is sent to a route: made anew for each try, as some can be sent only once. */
type Requests = ((() => Sent | Promise<Sent>) | Sent)[]

describe('the event loop, with the largest company that there can be', () => {
  const agent = new Agent({ keepAlive: true })
  after(() => agent.destroy())

  /** Returns the CPU time in ms, or undefined if a busy machine's stores took longer than requests wait. */
  async function send(url: string, method: string, sent: Sent & { path: string }) {
    const { path, query = '', token, body, form, status = 200 } = sent
    let isUnavailable = false
    const content = form
      ? new URLSearchParams(form as Record<string, string>).toString()
      : JSON.stringify(body)
    const time_ms = await threadCpu_ms(async () => {
      const { promise, resolve, reject } = Promise.withResolvers<{ got: number; answer: string }>()
      const headers = {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      }
      request(url + path + query, { method, headers, agent }, (response) =>
        text(response).then((answer) => resolve({ got: response.statusCode ?? 0, answer }), reject),
      )
        .on('error', reject)
        .end(content)
      const { got, answer } = await promise
      isUnavailable = got === 503
      if (!isUnavailable) assert.equal(got, status, `${method} ${path}: ${answer.slice(0, 500)}`)
    })
    return isUnavailable ? undefined : time_ms
  }

  async function assertShort(url: string, route: string, make: Requests[number], given?: Sent) {
    const [method = '', path = ''] = route.split(' ')
    const times_ms: number[] = []
    const otherwise = () => `${route} answered with 503 for too long`
    await eventually(
      async () => {
        const sent = typeof make === 'function' ? await make() : make
        const time_ms = await send(url, method, { path, ...given, ...sent })
        if (time_ms !== undefined) times_ms.push(time_ms)
        return times_ms.length === TRIES || times_ms.some((took_ms) => took_ms <= REQUEST_MAX_MS)
      },
      { otherwise },
    )
    const least_ms = Math.min(...times_ms)
    assert.ok(least_ms <= REQUEST_MAX_MS, `${route} took ${least_ms} ms of CPU on the main thread`)
  }

  describe('is not held up by the resource API', () => {
    const discovery = { issuer: ISSUER, apiResource: API_RESOURCE, routes: [], securityContact: undefined }
    const documents = createDiscovery({ ...discovery, clock: createTestClock() }).router.stack
    const routes = [
      ...ROUTES.map(({ method, path }) => `${method.toUpperCase()} ${path}`),
      ...documents.map(({ path }) => `GET ${String(path)}`),
      'GET /healthz',
      'GET /readyz',
    ]
    const internet = { resolve: async () => ({ addresses: ['192.0.2.1'], complete: true, failure: null }) }
    const api = sharedApi({ internet, env: { RATE_CALLBACK_TEST_PER_COMPANY: '1000/60' } })
    let company: LargestCompany
    let owner: { userId: string; sessionToken: string; email: string }

    before(async function () {
      this.timeout(600_000)
      const { vendorId } = await api.createCompany()
      owner = await api.createPerson({ vendorId })
      company = await fillLargestCompany(api, { vendorId, userId: owner.userId })
    })

    const day = (ago: number) => new Date(api.clock.now() - ago * DAY_MS).toISOString().slice(0, 10)
    const year = () => `?from=${day(DAYS)}&to=${day(1)}`
    const person = () => api.createPerson({ vendorId: company.vendorId, role: 'member' })
    const tokenFor = (scope: string) =>
      api.issuer.token({ clientId: company.clientIds[0] as string, vendorId: company.vendorId, scope })
    const events = () =>
      Array.from({ length: 1_000 }, () => ({
        eventId: crypto.randomUUID(),
        type: 'order',
        occurredAt: new Date(api.clock.now()).toISOString(),
        quantity: 2,
        amountMinor: 1_999,
        currency: 'EUR',
      }))
    const page = { query: '?limit=200' }
    const unknownId = '00000000-0000-4000-8000-000000000000'

    const rsa = generateKeyPairSync('rsa', { modulusLength: 4096 }).publicKey.export({ format: 'jwk' })
    const foreignKeys = Array.from({ length: 20 }, (_, kid) => ({ ...rsa, kid: String(kid), alg: 'RS256' }))
    /** What a plain GET does not show. */
    const REQUESTS: Record<string, Requests> = {
      'GET /v1/analytics/:vendorId/daily': [
        async () => ({ query: year(), token: await tokenFor('analytics:read') }),
      ],
      'GET /v1/vendor/:vendorId/analytics/daily': [() => ({ query: year() })],
      'POST /v1/analytics/:vendorId/events': [
        async () => ({ token: await tokenFor('analytics:write'), body: { events: events() } }),
        async () => ({
          token: await tokenFor('analytics:write'),
          body: { events: events().map(() => ({ type: 'x', eventId: '', occurredAt: 'x', quantity: -1 })) },
          status: 422,
        }),
      ],
      'GET /v1/vendor/:vendorId/oauth-clients': [page, { query: '?limit=200&status=Revoked' }],
      'GET /v1/vendor/:vendorId/people': [page],
      'GET /v1/vendor/:vendorId/activity': [
        page,
        { query: '?limit=200&action=client.created' },
        { query: '?limit=200&userId=operator&action=person.changed' },
      ],
      'GET /v1/sessions': [page],
      'GET /v1/vendor/:vendorId/refusals': [
        page,
        () => ({ query: `?limit=200&clientId=${company.clientIds[0]}` }),
      ],
      'GET /v1/vendor/:vendorId/refusals/:requestId': [
        {},
        () => ({ path: `/v1/vendor/${company.vendorId}/refusals/${unknownId}`, status: 404 }),
      ],
      'POST /v1/vendor/:vendorId/oauth-clients': [
        { body: { name: 'One more', scopes: ['analytics:read'] }, status: 409 },
      ],
      'PATCH /v1/vendor/:vendorId/oauth-clients/:clientId': [{ body: { name: 'Another' } }],
      'PUT /v1/vendor/:vendorId/workload-issuers': [
        { body: { issuer: 'https://issuer.example', keys: { keys: foreignKeys } }, status: 404 },
      ],
      'POST /v1/vendor/:vendorId/oauth-clients/:clientId/revoke': [{}],
      'POST /v1/found-secrets': [
        () => ({ token: '', body: { secrets: Array.from({ length: 100 }, newClientSecret) }, status: 202 }),
      ],
      'POST /v1/vendor/:vendorId/people': [
        { body: { name: 'One more', email: 'more@people.example', role: 'admin' }, status: 409 },
      ],
      'PATCH /v1/vendor/:vendorId/people/:userId': [
        async () => ({
          path: `/v1/vendor/${company.vendorId}/people/${(await person()).userId}`,
          body: { role: 'admin' },
        }),
      ],
      'DELETE /v1/vendor/:vendorId/people/:userId': [
        async () => ({
          path: `/v1/vendor/${company.vendorId}/people/${(await person()).userId}`,
          status: 204,
        }),
      ],
      'PATCH /v1/vendor/:vendorId/callback-url': [
        { body: { callbackUrl: 'https://receiver.example.com/' }, status: 422 },
      ],
      'POST /v1/vendor/:vendorId/callback-test': [{ status: 409 }],
      'POST /v1/session': [
        () => ({ token: '', body: { email: owner.email, password: TEST_PASSWORD }, status: 201 }),
      ],
      'PUT /v1/session/password': [
        () => ({ body: { currentPassword: 'wrong', newPassword: 'another unusual sentence' }, status: 422 }),
      ],
      'DELETE /v1/sessions/:sessionId': [
        { path: '/v1/sessions/00000000-0000-4000-8000-000000000000', status: 404 },
      ],
      'DELETE /v1/session': [async () => ({ token: (await api.createPerson()).sessionToken, status: 204 })],
      'POST /v1/invitation/preview': [{ body: { token: newInvitationToken() }, status: 404 }],
      'POST /v1/invitation': [
        { body: { token: newInvitationToken(), password: TEST_PASSWORD }, status: 404 },
      ],
      'POST /v1/password-reset': [{ status: 404 }],
      'POST /v1/password-reset/confirm': [{ status: 404 }],
      'POST /v1/session/openid': [{ status: 404 }],
      'GET /v1/session/openid/callback': [{ status: 404 }],
    }

    function given(route: string): Sent {
      const { vendorId, clientIds, requestId } = company
      const ids: Record<string, string | undefined> = { vendorId, requestId, clientId: clientIds[1] }
      const path = (route.split(' ')[1] ?? '').replaceAll(/:(\w+)/g, (_, name) => ids[name] ?? name)
      return { path, token: owner.sessionToken }
    }

    for (const route of routes)
      it(`holds up no event loop in ${route}`, async () => {
        const requests = REQUESTS[route] ?? (route.startsWith('GET ') ? [{}] : [])
        assert.ok(requests.length > 0, 'name a request for this route, the most costly that it takes')
        for (const make of requests) await assertShort(api.url, route, make, given(route))
      })

    it('has a route for each listed request', () => {
      for (const route of Object.keys(REQUESTS)) assert.ok(routes.includes(route), route)
    })
  })

  describe('is not held up by the authorization server', () => {
    const auth = sharedAuth()
    let client: TestClient
    let service: Awaited<ReturnType<typeof registerService>>
    before(async function () {
      this.timeout(600_000)
      const { vendorId } = await auth.createClient()
      const owner = {
        userId: newUserId(),
        email: 'owner@people.example',
        name: 'Owner',
        passwordHash: '$argon2id$none',
      }
      await insertUser(auth.db, owner)
      await fillLargestCompany(auth, { vendorId, userId: owner.userId })
      client = await auth.createClient({ vendorId })
      service = await registerService(auth.db, { name: 'Service', by: testOperator() })
    })
    const REQUESTS: Record<string, Requests> = {
      'POST /v1/oauth/token': [
        () => ({ form: tokenFields(client) }),
        () => ({ form: { ...tokenFields(client), client_secret: 'wrong' }, status: 401 }),
        () => ({ form: { ...tokenFields(client), scope: 'x '.repeat(3_000) }, status: 400 }),
      ],
      'POST /v1/oauth/introspect': [
        async () => ({
          form: {
            client_id: service.serviceId,
            client_secret: service.serviceSecret,
            token: (await auth.token(client)).json.access_token,
          },
        }),
      ],
      'POST /v1/oauth/revoke': [
        async () => ({
          form: { ...tokenFields(client), token: (await auth.token(client)).json.access_token },
        }),
      ],
    }

    it('holds up no event loop by a page of 100,000 revocations, which is smaller than 2.6 MB', async () => {
      await auth.db.raw(
        `insert into revoked_tokens (jti, expires_at)
         select gen_random_uuid()::text, now() + interval '900 seconds' from generate_series(1, 100000)`,
      )
      let least_ms = Number.POSITIVE_INFINITY
      for (let tries = 0; tries < TRIES && least_ms > REQUEST_MAX_MS; tries += 1) {
        // By then the next request has another page made.
        await sleep(PAGE_LIFE_MS)
        let received = 0
        const read_ms = await threadCpu_ms(async () => {
          const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
          request(`${auth.url}/v1/oauth/revocations`, { agent }, resolve).on('error', reject).end()
          for await (const chunk of await promise) received += chunk.length
        })
        // They do not repeat, so their number shows: 12 bytes for each is the least.
        assert.ok(received > 1_200_000 && received < PAGE_MAX_BYTES, `${received} bytes`)
        least_ms = Math.min(least_ms, read_ms)
      }
      assert.ok(least_ms <= REQUEST_MAX_MS, `a page took ${least_ms} ms of CPU on the main thread`)
    })

    it('holds up no event loop in any route of the authorization server', async () => {
      for (const route of auth.routes.filter((one) => !one.startsWith('HEAD '))) {
        const requests = REQUESTS[route] ?? (route.startsWith('GET ') ? [{}] : [])
        assert.ok(requests.length > 0, `name a request for ${route}, the most costly that it takes`)
        for (const make of requests) await assertShort(auth.url, route, make)
      }
      for (const route of Object.keys(REQUESTS)) assert.ok(auth.routes.includes(route), route)
    })
  })
})
