import assert from 'node:assert/strict'
import { sharedApi, startApi } from '../support/api.ts'
import { assertProblem } from '../support/problem.ts'

describe('paths and methods that nothing serves', () => {
  const api = sharedApi()

  const PATHS =
    '/ /v1/session/ /v1/SESSION /v1//session /v1/session%2f /v1/vendor//oauth-clients /% /v1/sess%69on'
  for (const path of [...PATHS.split(' '), '/v1/vendor/%E0%A4%A/activity/x'])
    it(`answers 404 to ${path}`, async () => assertProblem(await api.request('GET', path), 'not_found'))

  it('decodes a path once, and nothing in it that separates', async () => {
    for (const path of ['/v1%2Fsession', '/v1/sess%2569on', '/v1/session%3F', '/v1/sess%ion'])
      assertProblem(await api.request('GET', path), 'not_found')
  })

  for (const [method, path, allow] of [
    ['OPTIONS', '/v1/session', 'DELETE, GET, HEAD, POST'],
    ['DELETE', '/v1/vendor/ven_a/oauth-clients/x', 'GET, HEAD, PATCH'],
    ['GET', '/v1/vendor/ven_a/oauth-clients/x/revoke', 'POST'],
    ['PROPFIND', '/healthz', 'GET, HEAD'],
  ] as const)
    it(`answers 405 with Allow to ${method} ${path}`, async () => {
      const response = await api.request(method, path)
      assertProblem(response, 'method_not_allowed')
      assert.equal(response.headers.get('allow'), allow)
    })

  it('answers no preflight: there is no CORS', async () => {
    const headers = { origin: 'https://evil.test', 'access-control-request-method': 'POST' }
    const response = await api.request('OPTIONS', '/v1/session', { headers })
    assert.doesNotMatch([...response.headers.keys()].join(), /access-control/)
  })

  it('gives every answer its id and the headers that keep it harmless', async () => {
    for (const path of ['/', '/v1/session', '/healthz', '/openapi.json']) {
      const { headers } = await api.request('GET', path, { headers: { 'x-request-id': 'mine' } })
      assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'")
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
      assert.equal(headers.get('x-powered-by'), null)
    }
  })

  it('takes the request id of a trusted proxy, and logs that of the caller', async () => {
    await using behind = await startApi({ beside: api, env: { TRUSTED_PROXIES: '127.0.0.1' } })
    const headers = { 'x-request-id': 'from-the-gateway', 'x-caller-request-id': 'from-the-caller' }
    const response = await behind.request('GET', '/v1/session', { headers })
    assert.equal(response.headers.get('x-request-id'), 'from-the-gateway')
    const line = JSON.parse(behind.logLines.find((text) => text.includes('"msg":"request"')) as string)
    const ids = { requestId: 'from-the-gateway', callerRequestId: 'from-the-caller' }
    const seen = { route: '/v1/session', status: 401, problem: 'unauthenticated' }
    assert.partialDeepStrictEqual(line, { ...ids, ...seen })
  })

  it('forbids caching whatever request id a trusted proxy chose', async () => {
    await using behind = await startApi({ beside: api, env: { TRUSTED_PROXIES: '127.0.0.1' } })
    const sent = { 'x-request-id': 'Cache-Control' }
    const { headers } = await behind.request('GET', '/healthz', { headers: sent })
    assert.partialDeepStrictEqual(Object.fromEntries(headers), { ...sent, 'cache-control': 'no-store' })
  })
})
