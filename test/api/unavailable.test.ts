import assert from 'node:assert/strict'
import { freshApi, freshOwner, startApi, TEST_PASSWORD } from '../support/api.ts'
import { forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/ports.ts'
import { assertProblem } from '../support/problem.ts'
import { preloading, startServiceChild } from '../support/process.ts'
import { cutOffDatabase } from '../support/stores.ts'

describe('when a store is gone', () => {
  const api = freshApi()
  const owner = freshOwner(api)
  const client = forEachTest(() => owner.createClient())

  const read = async (scope?: string) => {
    const token = await api.issuer.token(scope === undefined ? client : { ...client, scope })
    return api.request('GET', `/v1/analytics/${owner.vendorId}/daily`, { token })
  }
  const everything = () => {
    const { sessionToken: token } = owner
    return Promise.all([
      read(),
      api.request('POST', '/v1/session', { body: { email: 'a@people.example', password: TEST_PASSWORD } }),
      api.request('GET', '/v1/session', { token }),
      api.request('DELETE', '/v1/session', { token }),
      owner.request('GET', 'oauth-clients'),
      owner.request('POST', 'oauth-clients', { body: { name: 'x', scopes: ['boost:read'] } }),
      owner.request('POST', `oauth-clients/cli_${'a'.repeat(22)}/revoke`),
      owner.request('GET', 'callback-url'),
      owner.request('PATCH', 'callback-url', { body: {} }),
      owner.request('POST', 'callback-test'),
      owner.request('GET', 'activity'),
      owner.request('GET', 'analytics/daily'),
    ])
  }

  it('judges tokens by Postgres when Redis is gone', async () => {
    await api.redis.stop('SIGKILL')
    assert.equal((await read()).status, 200)
    await eventually(async () => {
      const { status, json } = await api.request('GET', '/readyz')
      assert.equal(status, 200)
      return json.degraded?.join() === 'redis'
    })
    await api.redis.start()
    await eventually(async () => (await api.request('GET', '/readyz')).json.degraded === undefined)
  })

  it('stays ready with wrong clocks, says what is wrong, and lets Postgres decide', async () => {
    const url = new URL(api.database.ownerUrl)
    await api.db.raw(`
      create function public.now() returns timestamptz stable language sql
        as $$ select pg_catalog.now() + interval '1 hour' $$`)
    await api.db.raw(`alter database ${url.pathname.slice(1)} set search_path = public, pg_catalog`)
    await using beside = await startApi({ beside: api })
    await eventually(async () => {
      const { status, json } = await beside.request('GET', '/readyz')
      assert.equal(status, 200)
      return json.degraded?.join() === 'clocks'
    })
  })

  for (const minutes of [-120, 30])
    it(`accepts and refuses no token by its own clock if that is ${minutes} minutes ahead`, async () => {
      const [PORT, METRICS_PORT] = (await Promise.all([freePort(), freePort()])).map(String)
      const NODE_OPTIONS = preloading(`const { now } = Date; Date.now = () => now() + ${minutes * 60_000}`)
      const env = { ...api.env, PORT, METRICS_PORT, NODE_OPTIONS } as Record<string, string>
      await using child = startServiceChild('apps/api/main.ts', env)
      await child.logged('ready')
      const get = async (path: string, token = '') => {
        const response = await fetch(`http://127.0.0.1:${PORT}${path}`, { headers: { authorization: token } })
        return [response.status, await response.json()] as const
      }
      await eventually(async () => (await get('/readyz'))[0] === 503)
      assert.deepEqual((await get('/readyz'))[1], { status: 'not ready', waitingFor: ['clock'] })
      for (const iat_s of [Date.now() / 1_000, (Date.now() + minutes * 60_000) / 1_000].map(Math.floor)) {
        const token = await api.issuer.token(client, { claims: { iat: iat_s, exp: iat_s + 900 } })
        const [status] = await get(`/v1/analytics/${owner.vendorId}/daily`, `Bearer ${token}`)
        assert.equal(status, 503)
      }
    })

  it('answers 503 with Retry-After on every route without Postgres, and works again when it is back', async () => {
    assert.equal((await read()).status, 200)
    const restore = await cutOffDatabase(api.database)
    const answers = await everything()
    for (const line of api.logLines) assert.doesNotMatch(line, /"problem":"internal","/)
    for (const response of answers) assertProblem(response, 'unavailable')
    const ready = await api.request('GET', '/readyz')
    assert.deepEqual([ready.status, ready.json], [503, { status: 'not ready', waitingFor: ['postgres'] }])
    assert.equal((await api.request('GET', '/healthz')).status, 200)
    await restore()
    assert.equal((await read()).status, 200)
    assert.equal((await api.request('GET', '/readyz')).status, 200)
  })

  it('gives no access when both stores are gone', async () => {
    assert.equal((await read()).status, 200)
    await api.redis.stop('SIGKILL')
    const restore = await cutOffDatabase(api.database)
    assertProblem(await read(), 'unavailable')
    // Refused for its scope only after the decision, so this 503 is not that of the data's query.
    const undecided = await read('boost:read')
    assertProblem(undecided, 'unavailable')
    assert.match(undecided.json.detail, /revoked/)
    await restore()
    await api.redis.start()
    assert.equal((await read()).status, 200)
  })

  it('logs once why a store is gone, and nothing of the request', async () => {
    await api.request('GET', '/v1/session', { token: owner.sessionToken })
    const restore = await cutOffDatabase(api.database)
    api.logLines.length = 0
    const password = 'a password that must not be logged'
    await api.request('POST', '/v1/session', { body: { email: 'a@people.example', password } })
    const failures = api.logLines.filter((line) => line.includes('request failed'))
    const { problem, level, error } = JSON.parse(failures[0] as string)
    // A stranger could repeat it, so it is a warning.
    assert.deepEqual([failures.length, problem, level, typeof error], [1, 'unavailable', 40, 'string'])
    for (const text of [password, 'people.example']) assert.ok(!api.logLines.join().includes(text))
    await restore()
  })
})
