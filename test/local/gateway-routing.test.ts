import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { INDEX, sharedGateway } from '../support/gateway.ts'

describe('the gateway: where a path goes', () => {
  const gateway = sharedGateway()

  it('takes connections to loopback’s own address only', async () => {
    // 127.0.0.2 is this machine too: what listens on every address takes it.
    const refused = await new Promise<string | undefined>((resolve) => {
      const socket = connect(gateway.port, '127.0.0.2', () => resolve('connected'))
      socket
        .on('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
        .on('connect', () => socket.destroy())
    })
    assert.equal(refused, 'ECONNREFUSED')
  })

  const passedOn: [target: string, service: 'auth' | 'api'][] = [
    ['/v1/oauth/token', 'auth'],
    ['/v1/oauth/jwks', 'auth'],
    ['/v1/oauth/anything/below?x=1', 'auth'],
    ['/v1/oauth/', 'auth'],
    ['/.well-known/oauth-authorization-server', 'auth'],
    ['/.well-known/openid-configuration', 'auth'],
    ['/.well-known/jwks.json', 'auth'],
    ['/.well-known/jwks.json/more', 'api'],
    ['/.well-known/openid-configuration/more', 'api'],
    ['/.well-known/oauth-authorization-server/more', 'api'],
    ['/.well-known/oauth-protected-resource', 'api'],
    ['/v1/oauth', 'api'],
    ['/v1/oauthx/token', 'api'],
    ['/v1/analytics/ven_acme/daily?from=2026-01-01&to=2026-01-02', 'api'],
    ['/v1/session', 'api'],
    ['/v1/?a=/../v1/oauth/token', 'api'],
    ['/v1/%6Fauth/token', 'api'],
    ['/openapi.json', 'api'],
    ['/openapi/integrations.json', 'api'],
    ['/llms.txt', 'api'],
    ['/docs', 'api'],
    ['/docs/problems', 'api'],
    ['/docs?x', 'api'],
  ]
  for (const [target, service] of passedOn) {
    it(`passes ${target} on to ${service}, byte for byte`, async () => {
      await gateway.raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      assert.deepEqual(
        gateway.received.map((request) => [request.service, request.url]),
        [[service, target]],
      )
    })
  }

  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']) {
    it(`passes ${method} on, whether or not the service has it`, async () => {
      await fetch(`${gateway.url}/v1/session`, { method })
      assert.deepEqual(
        gateway.received.map((request) => request.method),
        [method],
      )
    })
  }

  for (const target of [
    '/',
    '/?signed-in',
    '/invitation',
    '/password-reset',
    '/explain',
    '/explain/0b9f6b52-3c1e-4f55-9f0e-6b8f6f1c1d2a',
    '/ven_acme',
    '/ven_acme/',
    '/ven_acme/integrations/oauth-clients?tab=1',
  ]) {
    it(`answers GET ${target} with the workspace`, async () => {
      const response = await fetch(gateway.url + target)
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('cache-control'), 'no-cache')
      assert.equal(await response.text(), INDEX)
      assert.equal(gateway.received.length, 0)
    })
  }

  for (const target of [
    '/V1/analytics/ven_acme/daily',
    '/v1',
    '/v2/analytics',
    '/oauth/token',
    '/token',
    '/graphql',
    '/changelog',
    '/openapi.json/',
    '/openapi',
    '/sign-in',
    '/invitation/more',
    '/password-reset/confirm',
    '/Ven_acme',
    '/ven_',
    '/ven_acme/font.woff2',
    '/assets/gone-123.js',
    '/robots.txt',
    '/healthz',
    '/readyz',
    '/metrics',
  ]) {
    it(`answers GET ${target} with 404, not with a page`, async () => {
      const response = await fetch(gateway.url + target)
      assert.equal(response.status, 404)
      assert.equal(response.headers.get('content-type'), 'application/problem+json')
      assert.equal(response.headers.get('cache-control'), 'no-store')
      assert.equal(((await response.json()) as { code: string }).code, 'not_found')
      assert.equal(gateway.received.length, 0)
    })
  }

  it('refuses another method on a page', async () => {
    const response = await fetch(`${gateway.url}/ven_acme`, { method: 'POST', body: 'x' })
    assert.equal(response.status, 405)
    assert.equal(response.headers.get('allow'), 'GET, HEAD')
    assert.equal(response.headers.get('content-type'), 'application/problem+json')
    const problem = (await response.json()) as { code: string; requestId: string }
    assert.equal(problem.code, 'method_not_allowed')
    assert.equal(problem.requestId, response.headers.get('x-request-id'))
  })

  const nowhere = [
    '/v1/oauth/../session',
    '/v1/session/../oauth/token',
    '/v1/./session',
    '/v1/session/..',
    '/v1/%2e%2e/oauth/token',
    '/v1/.%2E/oauth/token',
    '//v1/oauth/token',
    '/v1//oauth/token',
    '/v1/oauth//token',
    '/v1/oauth%2Ftoken',
    '/v1%2foauth/token',
    '/v1/oauth%5Ctoken',
    '/v1/oauth\\token',
    '/v1/session%00',
    '/v1/session%',
    '/v1/session%zz',
    '/v1/session#fragment',
    '/v1/sess|ion',
    '/..%2f..%2fetc/passwd',
    '/../../etc/passwd',
    '//evil.example/',
    'http://evil.example/v1/../session',
    'http://evil.example//v1/oauth/token',
    '*',
  ]
  for (const target of nowhere) {
    it(`passes ${target} on to nobody`, async () => {
      const answer = await gateway.raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
      assert.doesNotMatch(answer, /The workspace|root:/)
      assert.equal(gateway.received.length, 0)
    })
  }

  it('refuses what is not HTTP with a problem and a request id', async () => {
    const [head = '', body = ''] = (await gateway.raw('hello\r\n\r\n')).split('\r\n\r\n')
    assert.match(head, /^HTTP\/1\.1 400 .*\r\nContent-Type: application\/problem\+json/s)
    const { status, requestId } = JSON.parse(body)
    assert.equal(status, 400)
    assert.ok(head.includes(`X-Request-Id: ${requestId}`))
  })
})
