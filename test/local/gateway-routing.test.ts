import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { INDEX, sharedGateway } from '../support/gateway.ts'

describe('the gateway: where a path goes', () => {
  const gateway = sharedGateway()
  const rawGet = (target: string) =>
    gateway.raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)

  async function problem(target: string, init?: RequestInit) {
    const response = await fetch(gateway.url + target, init)
    const { status, headers } = response
    assert.equal(headers.get('content-type'), 'application/problem+json')
    return { status, headers, json: (await response.json()) as { code: string; requestId: string } }
  }

  it('takes connections to loopback’s own address only', async () => {
    // 127.0.0.2 is this machine too: what listens on every address takes it.
    await assert.rejects(once(connect(gateway.port, '127.0.0.2'), 'connect'), { code: 'ECONNREFUSED' })
  })

  const passedOn = {
    auth: `/v1/oauth/token /v1/oauth/jwks /v1/oauth/anything/below?x=1 /v1/oauth/
      /.well-known/oauth-authorization-server /.well-known/openid-configuration /.well-known/jwks.json`,
    api: `/.well-known/jwks.json/more /.well-known/openid-configuration/more
      /.well-known/oauth-authorization-server/more /.well-known/oauth-protected-resource
      /v1/oauth /v1/oauthx/token /v1/analytics/ven_acme/daily?from=2026-01-01&to=2026-01-02 /v1/session
      /v1/?a=/../v1/oauth/token /v1/%6Fauth/token
      /openapi.json /openapi/integrations.json /llms.txt /docs /docs/problems /docs?x`,
  }
  for (const [service, targets] of Object.entries(passedOn))
    for (const target of targets.split(/\s+/))
      it(`passes ${target} on to ${service}, byte for byte`, async () => {
        await rawGet(target)
        assert.deepEqual(
          gateway.received.flatMap(({ service, url }) => [service, url]),
          [service, target],
        )
      })

  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])
    it(`passes ${method} on, whether or not the service has it`, async () => {
      await fetch(`${gateway.url}/v1/session`, { method })
      assert.equal(gateway.received.map((request) => request.method).join(), method)
    })

  const pages = `/ /?signed-in /invitation /password-reset
    /explain /explain/0b9f6b52-3c1e-4f55-9f0e-6b8f6f1c1d2a
    /ven_acme /ven_acme/ /ven_acme/integrations/oauth-clients?tab=1`.split(/\s+/)
  for (const target of pages)
    it(`answers GET ${target} with the workspace`, async () => {
      const response = await fetch(gateway.url + target)
      assert.deepEqual([response.status, response.headers.get('cache-control')], [200, 'no-cache'])
      assert.equal(await response.text(), INDEX)
      assert.equal(gateway.received.length, 0)
    })

  const unknown = `/V1/analytics/ven_acme/daily /v1 /v2/analytics /oauth/token /token /graphql /changelog
    /openapi.json/ /openapi /sign-in /invitation/more /password-reset/confirm
    /Ven_acme /ven_ /ven_acme/font.woff2 /assets/gone-123.js /robots.txt
    /healthz /readyz /metrics`.split(/\s+/)
  for (const target of unknown)
    it(`answers GET ${target} with 404, not with a page`, async () => {
      const { status, headers, json } = await problem(target)
      assert.deepEqual([status, headers.get('cache-control'), json.code], [404, 'no-store', 'not_found'])
      assert.equal(gateway.received.length, 0)
    })

  it('refuses another method on a page', async () => {
    const { status, headers, json } = await problem('/ven_acme', { method: 'POST', body: 'x' })
    assert.deepEqual([status, headers.get('allow'), json.code], [405, 'GET, HEAD', 'method_not_allowed'])
    assert.equal(json.requestId, headers.get('x-request-id'))
  })

  const nowhere = `/v1/oauth/../session /v1/session/../oauth/token /v1/./session /v1/session/..
    /v1/%2e%2e/oauth/token /v1/.%2E/oauth/token //v1/oauth/token /v1//oauth/token /v1/oauth//token
    /v1/oauth%2Ftoken /v1%2foauth/token /v1/oauth%5Ctoken /v1/oauth\\token
    /v1/session%00 /v1/session% /v1/session%zz /v1/session#fragment /v1/sess|ion
    /..%2f..%2fetc/passwd /../../etc/passwd //evil.example/ http://evil.example/v1/../session
    http://evil.example//v1/oauth/token *`.split(/\s+/)
  for (const target of nowhere)
    it(`passes ${target} on to nobody`, async () => {
      const answer = await rawGet(target)
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
      assert.doesNotMatch(answer, /The workspace|root:/)
      assert.equal(gateway.received.length, 0)
    })

  it('refuses what is not HTTP with a problem and a request id', async () => {
    const [head = '', body = ''] = (await gateway.raw('hello\r\n\r\n')).split('\r\n\r\n')
    assert.match(head, /^HTTP\/1\.1 400 .*\r\nContent-Type: application\/problem\+json/s)
    const { status, requestId } = JSON.parse(body)
    assert.equal(status, 400)
    assert.ok(head.includes(`X-Request-Id: ${requestId}`))
  })
})
