import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { sharedGateway, startTestGateway } from '../support/gateway.ts'
import { createPlaceholders } from '../support/placeholders.ts'
import { recordedTexts } from '../support/recorded.ts'
import { createTestRedis } from '../support/servers.ts'
import { changesOf } from '../support/words.ts'

const PATHS = {
  'of the authorization server': `/v1/oauth/token /v1/oauth/jwks /v1/oauth/anything/below?x=1 /v1/oauth/
    /.well-known/oauth-authorization-server /.well-known/openid-configuration /.well-known/jwks.json`,
  'of the API': `/.well-known/jwks.json/more /.well-known/openid-configuration/more
    /.well-known/oauth-authorization-server/more /.well-known/oauth-protected-resource
    /v1/oauth /v1/oauthx/token /v1/analytics/ven_acme/daily?from=2026-01-01&to=2026-01-02 /v1/session
    /v1/?a=/../v1/oauth/token /v1/%6Fauth/token
    /openapi.json /openapi/integrations.json /llms.txt /docs /docs/problems /docs?x`,
  'of pages': `/ /?signed-in /invitation /password-reset
    /explain /explain/0b9f6b52-3c1e-4f55-9f0e-6b8f6f1c1d2a
    /ven_acme /ven_acme/ /ven_acme/integrations/oauth-clients?tab=1`,
  'of files': '/assets/app-Bx3d9f.js /favicon.svg',
  'of nothing': `/V1/analytics/ven_acme/daily /v1 /v2/analytics /oauth/token /token /graphql /changelog
    /openapi.json/ /openapi /sign-in /invitation/more /password-reset/confirm
    /Ven_acme /ven_ /ven_acme/font.woff2 /explain/font.woff2 /docsx /llms.txt/more /assets/gone-123.js /robots.txt /healthz /readyz /metrics
    /package.json /assets /assets/ /etc/passwd /__proto__ /constructor`,
  'that are not passed on': `/v1/session/../oauth/token /v1/oauth/../session /v1/./session /v1/session/..
    /v1/%2e%2e/oauth/token /v1/.%2E/oauth/token //v1/oauth/token /v1//oauth/token /v1/oauth//token
    /v1/oauth%2Ftoken /v1%2foauth/token /v1/oauth%5Ctoken /v1/oauth\\token /index.html/..%00
    /v1/session%00 /v1/session% /v1/session%zz /v1/session#fragment /v1/sess|ion
    /..%2f..%2fetc/passwd /../../etc/passwd //evil.example/ http://evil.example/v1/../session
    http://evil.example//v1/oauth/token *`,
}

const FIELDS = {
  'for other proxies': `X-Forwarded-For: 203.0.113.9; X-Forwarded-Proto: https; Forwarded: for=203.0.113.9
    X-Real-IP: 203.0.113.9; X-Forwarded-Host: 203.0.113.9; X-Forwarded-Port: 203.0.113.9
    X-Forwarded-Prefix: /elsewhere`,
  'with an id of the caller': `X-Request-Id: order-42.retry_1
    X-Caller-Request-Id: forged
    X-Request-Id: spaces in it
    X-Request-Id: ${'x'.repeat(65)}
    X-Request-Id: "quoted"
    X-Request-Id: line%0abreak`,
  'about this connection': `Keep-Alive: timeout=100; Proxy-Authorization: Basic x; TE: trailers
    Proxy-Connection: keep-alive; Trailer: Expires; Upgrade: h2c
    Connection: X-Mine; X-Mine: 1; X-Other: 2`,
  'that Connection cannot take away': `Connection: Authorization; Authorization: Bearer x
    Connection: Content-Type; Content-Type: text/plain
    Connection: Cache-Control; Cache-Control: no-cache
    Connection: X-Forwarded-For, X-Request-Id, Host`,
}

const HIDDEN = 'DELETE /v1/hidden HTTP/1.1\r\nHost: x\r\n\r\n'
const CHUNK = `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`
const SESSION = '/v1/session'

type Request = [line: string, fields?: string[], body?: string]

/** Of `GET /`, and in what is recorded, of any file. */
const TAG = '"TAG"'
const ANY_TAG = /^(ETag: (?:W\/)?)".*"/gim

describe('the gateway: what it answers, and what it passes on', () => {
  const gateway = sharedGateway()
  const { assertRecorded } = recordedTexts(new URL('gateway-answers.txt', import.meta.url), [])
  let tag = ''
  before(async () => {
    tag = (await fetch(gateway.url)).headers.get('etag')?.replace('W/', '') ?? ''
  })

  /** Sends a request as it is. Returns it with its answer and with each request that a service got. */
  async function exchange(line: string, fields: string[] = [], body = ''): Promise<string> {
    const sent = [line, ...fields].join('\n')
    const head = [`${line} HTTP/1.1`, 'Host: gateway.test', 'Connection: close', ...fields].join('\r\n')
    const answer = await gateway.raw(`${head.replaceAll(TAG, tag)}\r\n\r\n${body}`)
    const got = gateway.received.splice(0).map(({ service, method, url, rawHeaders, body }) => {
      const pairs = rawHeaders.flatMap((name, i) => (i % 2 ? [] : `${name}: ${rawHeaders[i + 1]}`))
      return [`${service} got ${method} ${url}`, ...pairs, ...(body ? [body] : [])].join('\n')
    })
    const text = [`${sent}\n`, answer, ...got].join('\n').replaceAll('\r', '')
    const lasting = text.replaceAll(/^(?:Date|Last-Modified): .*\n/gim, '').replaceAll(ANY_TAG, '$1"TAG"')
    return createPlaceholders()(lasting)
  }

  /** Returns a test that compares the first exchange whole, and what is different in each other. */
  const recorded = (requests: Request[]) =>
    async function (this: Mocha.Context): Promise<void> {
      let first = ''
      let text = ''
      for (const request of requests) {
        const exchanged = await exchange(...request)
        text += `${changesOf(first, exchanged)}\n\n`
        first ||= exchanged
      }
      assertRecorded(this.test?.title ?? '', text)
    }

  for (const [what, paths] of Object.entries(PATHS))
    it(`paths ${what}`, recorded(paths.split(/\s+/).map((path) => [`GET ${path}`])))
  for (const [what, lines] of Object.entries(FIELDS)) {
    const requests = lines.split('\n').map((line): Request => [`POST ${SESSION}`, line.trim().split('; ')])
    it(`fields ${what}`, recorded(requests))
  }
  const ofPage = (field: string, path = '/'): Request => [`GET ${path}`, [field]]
  it(
    'files that a browser asks for',
    recorded([
      ...[TAG, `W/${TAG}`, `"other", ${TAG}`, '*', '"other"'].map((tag) => ofPage(`If-None-Match: ${tag}`)),
      ...['/login', '/assets/none.js'].map((path) => ofPage('Accept: text/html,*/*;q=0.8', path)),
      ofPage('Accept: */*', '/login'),
      ['HEAD /'],
      ['POST /ven_acme'],
    ]),
  )
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])
    it(
      `${method} with and without a body, in which no second request hides`,
      recorded([
        [`${method} ${SESSION}`],
        [`${method} ${SESSION}`, ['Content-Length: 5'], 'hello'],
        [`${method} ${SESSION}`, ['Transfer-Encoding: chunked'], CHUNK],
        [`${method} ${SESSION}`, ['Connection: Content-Length', 'Content-Length: 5'], 'hello'],
      ]),
    )

  it('answers what is not HTTP with a problem', async () => {
    const text = await gateway.raw('hello\r\n\r\n')
    assertRecorded('no HTTP', createPlaceholders()(text.replaceAll('\r', '')))
  })

  it('takes connections to loopback’s own address only, as the Redis of the local stack does', async () => {
    await using redis = await createTestRedis()
    // 127.0.0.2 is this machine too: what listens on every address takes it.
    for (const { port } of [gateway, redis])
      await assert.rejects(once(connect(port, '127.0.0.2'), 'connect'), { code: 'ECONNREFUSED' })
  })

  it('does not ask browsers to come back by TLS when callers use none', async () => {
    await using other = await startTestGateway({ apiResource: 'http://localhost:8080' })
    for (const path of ['/', '/assets/none.js', SESSION, '/v1/oauth/jwks', '/v1//x'])
      assert.equal((await fetch(other.url + path)).headers.has('strict-transport-security'), false, path)
  })

  it('takes from an answer what is about the other connection', async () => {
    await using other = await startTestGateway()
    const removed = { 'Keep-Alive': 'timeout=77', 'Proxy-Authenticate': 'Basic', 'X-Request-Id': 'its own' }
    const kept = { 'X-Kept': 'yes', 'Set-Cookie': ['a=1', 'b=2'] }
    other.answerWith((_request, response) => void response.writeHead(200, { ...removed, ...kept }).end('x'))
    const { headers } = await fetch(other.url + SESSION)
    assert.notEqual(headers.get('keep-alive'), 'timeout=77')
    assert.deepEqual([headers.get('proxy-authenticate'), headers.get('x-kept')], [null, 'yes'])
    assert.match(headers.get('x-request-id') ?? '', /^[\w-]{36}$/)
    assert.deepEqual(headers.getSetCookie(), ['a=1', 'b=2'])
  })
})
