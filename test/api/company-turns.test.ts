import assert from 'node:assert/strict'
import { ROUTES } from '../../apps/api/routes.ts'
import { freshOwner, sharedApi, startApi } from '../support/api.ts'
import { assertProblem } from '../support/problem.ts'
import { countBlocked, lockTable, untilBlocked } from '../support/stores.ts'

describe('a company', () => {
  const api = sharedApi()
  const owner = freshOwner(api)
  const other = freshOwner(api)

  const dailyReader = async ({ vendorId }: { vendorId: string }) => {
    const token = await api.issuer.token(await api.createClient({ vendorId }))
    return () => api.request('GET', `/v1/analytics/${vendorId}/daily`, { token })
  }
  for (const [table, slowly, quickly] of [
    [
      'callback_destinations',
      () => () => owner.request('GET', 'callback-url'),
      () => () => other.request('GET', 'activity'),
    ],
    ['analytics_daily', () => dailyReader(owner), () => dailyReader(other)],
  ] as const)
    it(`takes two connections at most, so slow statements on ${table} of one leave the others theirs`, async () => {
      const [readSlowly, read] = [await slowly(), await quickly()]
      // Daily figures that have not changed are not read again.
      await read()
      const lock = await lockTable(api.db, table)
      const slow = Array.from({ length: 10 }, readSlowly)
      const statuses: number[] = []
      for (let n = 0; n < 10; n += 1) statuses.push((await read()).status)
      const waiting = await countBlocked(api.db)
      await lock.rollback()
      assert.deepEqual(statuses, Array(10).fill(200))
      assert.equal(waiting, 2)
      for (const { status } of await Promise.all(slow)) assert.equal(status, 200)
    })

  it('gives each of its people a turn, however many requests of another wait', async () => {
    const admin = await api.createPerson({ vendorId: owner.vendorId, role: 'admin' })
    const lock = await lockTable(api.db, 'oauth_clients')
    const ended: string[] = []
    const ask = ({ role, ...person }: { role: string } & typeof owner, method = 'GET', body?: object) =>
      person.request(method, 'oauth-clients', { body }).finally(() => ended.push(role))
    const create = () => ask({ ...admin, role: 'admin' }, 'POST', { name: 'One', scopes: ['boost:read'] })
    const slow = Array.from({ length: 60 }, (_, n) => (n % 2 ? create() : ask({ ...admin, role: 'admin' })))
    await untilBlocked(api.db, 2)
    const own = ask({ ...owner, role: 'owner' })
    // Once a later request is answered that takes no turn, that one waits for its turn.
    await api.request('GET', '/v1/session', { token: owner.sessionToken })
    await lock.rollback()
    await Promise.all([...slow, own])
    assert.ok(ended.indexOf('owner') < 10, ended.join())
  })

  it('counts each route that changes something as a change, except a revocation; a test event has a limit of its own', async () => {
    const sent = ROUTES.filter(({ access }) => access.security?.scheme === 'session')
    const limits = sent.map(async ({ method, path }) => {
      const { vendorId, sessionToken: token } = await api.createOwner()
      const to = path.replace(':vendorId', vendorId).replaceAll(/:\w+/g, 'nothing')
      const { headers } = await api.request(method.toUpperCase(), to, { token })
      return [`${method} ${path}`, /^"(.+?)"/.exec(headers.get('ratelimit-policy') ?? '')?.[1]]
    })
    const expected = sent.map(({ method, path }) => [
      `${method} ${path}`,
      path.endsWith('/callback-test')
        ? 'callback-test'
        : method === 'get' || path.endsWith('/revoke') || !path.startsWith('/v1/vendor/')
          ? 'api-session'
          : 'changes',
    ])
    assert.deepEqual(await Promise.all(limits), expected)
  })

  it('has a limit of changes, and of changes to people, which no admin can use up for the owner', async () => {
    await using busy = await startApi({ beside: api, env: { RATE_CHANGES_PER_COMPANY: '3/3600' } })
    const body = { name: 'Old', scopes: ['boost:read'] }
    const { clientId } = (await owner.request('POST', 'oauth-clients', { body, at: busy })).json
    const admin = await api.createPerson({ vendorId: owner.vendorId, role: 'admin' })
    const changes: [method: string, path: string, body: object][] = [
      ['PATCH', `oauth-clients/${clientId}`, { name: 'New' }],
      ['PATCH', 'callback-url', { callbackUrl: 'https://192.0.2.1/' }],
    ]
    const toPeople: typeof changes = [
      ['PATCH', `people/${admin.userId}`, { status: 'suspended' }],
      ['DELETE', `people/${admin.userId}`, {}],
      ['POST', 'people', { name: 'Kim', email: 'kim@acme.example', role: 'member' }],
    ]
    const send = ([method, path, body]: (typeof changes)[number], person = owner) =>
      person.request(method, path, { ...(method !== 'DELETE' && { body }), at: busy })
    for (const change of changes) assert.notEqual((await send(change, admin)).status, 429)
    for (const change of changes) assert.equal((await send(change, admin)).status, 429)
    for (const change of toPeople) assert.notEqual((await send(change)).status, 429, change[0])
    for (const change of [...changes, ...toPeople]) assertProblem(await send(change), 'rate_limited')
    for (const change of changes) assert.notEqual((await send(change, other)).status, 429)
  })
})
