import assert from 'node:assert/strict'
import { sharedGateway, startTestGateway } from '../support/gateway.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('the gateway: what it says for a caller', () => {
  const gateway = sharedGateway()

  /** Sends fields as they are. */
  const send = (fields: string[], body = '', method = 'POST') => {
    const lines = [`${method} /v1/session HTTP/1.1`, 'Host: gateway.test', 'Connection: close', ...fields]
    return gateway.raw(`${lines.join('\r\n')}\r\n\r\n${body}`)
  }
  /** The same; returns the one request that the service got. */
  async function passedOn(...sent: Parameters<typeof send>) {
    const answer = await send(...sent)
    const [request, ...others] = gateway.received
    assert.ok(request && others.length === 0, answer)
    return { answer, request }
  }

  /** What is sent, and what the service gets of it. */
  const FIELDS: [sent: string, name: string, got?: string][] = [
    ['X-Forwarded-For: 203.0.113.9', 'x-forwarded-for', '127.0.0.1'],
    ['X-Forwarded-Proto: https', 'x-forwarded-proto', 'http'],
    ['Forwarded: for=203.0.113.9', 'forwarded'],
    ['X-Real-IP: 203.0.113.9', 'x-real-ip'],
    ['X-Forwarded-Host: 203.0.113.9', 'x-forwarded-host'],
    ['X-Forwarded-Port: 203.0.113.9', 'x-forwarded-port'],
    ['X-Forwarded-Prefix: /elsewhere', 'x-forwarded-prefix'],
    ['X-Request-Id: order-42.retry_1', 'x-caller-request-id', 'order-42.retry_1'],
    ['X-Caller-Request-Id: forged', 'x-caller-request-id'],
    ['X-Request-Id: spaces in it', 'x-caller-request-id'],
    [`X-Request-Id: ${'x'.repeat(65)}`, 'x-caller-request-id'],
    ['X-Request-Id: "quoted"', 'x-caller-request-id'],
    ['X-Request-Id: line%0abreak', 'x-caller-request-id'],
    // These are about this connection.
    ['Keep-Alive: timeout=100', 'keep-alive'],
    ['Proxy-Authorization: Basic x', 'proxy-authorization'],
    ['Proxy-Connection: keep-alive', 'proxy-connection'],
    ['TE: trailers', 'te'],
    ['Trailer: Expires', 'trailer'],
    ['Upgrade: h2c', 'upgrade'],
  ]
  for (const [sent, name, got] of FIELDS)
    it(`turns ${sent.slice(0, 40)} into the ${name} ${got}`, async () => {
      const { request } = await passedOn([sent])
      assert.equal(request.headers[name], got)
      assert.match(String(request.headers['x-request-id']), UUID)
    })

  it('makes the request id, passes it on and answers with it', async () => {
    const { request, answer } = await passedOn([])
    assert.match(String(request.headers['x-request-id']), UUID)
    assert.equal(/\r\nX-Request-Id: (.*)\r\n/i.exec(answer)?.[1], request.headers['x-request-id'])
    assert.equal(answer.toLowerCase().split('\r\nx-request-id:').length, 2)
  })

  it('takes away what Connection names', async () => {
    const { request } = await passedOn(['Connection: X-Mine', 'X-Mine: 1', 'X-Other: 2'])
    assert.equal(request.headers['x-mine'], undefined)
    assert.equal(request.headers['x-other'], '2')
  })

  const KEPT = ['Authorization: Bearer x', 'Content-Type: text/plain', 'Cache-Control: no-cache']
  for (const name of 'Authorization Content-Type Cache-Control X-Forwarded-For X-Request-Id Host'.split(' '))
    it(`does not let Connection take ${name} away`, async () => {
      const { request } = await passedOn([`Connection: ${name}`, ...KEPT])
      assert.ok(request.headers[name.toLowerCase()])
    })

  it('does not let Connection take the length of a body away', async () => {
    const { request } = await passedOn(['Connection: Content-Length', 'Content-Length: 5'], 'hello')
    assert.deepEqual([request.headers['content-length'], request.body], ['5', 'hello'])
  })

  for (const [apiResource, expected] of [
    ['https://integration.example.com', 'max-age=31536000'],
    ['http://localhost:8080', null],
  ] as const)
    it(`${expected ? 'asks browsers to come back by TLS' : 'says nothing of TLS'} when callers use ${apiResource}`, async () => {
      await using other = await startTestGateway({ apiResource })
      for (const path of ['/', '/assets/none.js', '/v1/session', '/v1/oauth/jwks', '/v1//x']) {
        const { headers } = await fetch(other.url + path)
        assert.equal(headers.get('strict-transport-security'), expected, path)
      }
    })

  describe('the length of a body', () => {
    const hidden = 'DELETE /v1/hidden HTTP/1.1\r\nHost: x\r\n\r\n'
    const chunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`

    for (const method of ['GET', 'POST'])
      it(`restates the length when ${method} came in chunks, so that no second request hides in it`, async () => {
        const { request } = await passedOn(['Transfer-Encoding: chunked'], chunk, method)
        assert.deepEqual([request.method, request.body], [method, hidden])
      })

    for (const method of ['DELETE', 'OPTIONS'])
      it(`refuses ${method} in chunks, so that no second request hides in it`, async () => {
        assert.match(await send(['Transfer-Encoding: chunked'], chunk, method), /^HTTP\/1\.1 400 /)
        assert.equal(gateway.received.length, 0)
      })

    for (const method of ['GET', 'DELETE', 'OPTIONS', 'POST'])
      it(`passes the length on when ${method} declared it`, async () => {
        const { request } = await passedOn(['Content-Length: 5'], 'hello', method)
        assert.deepEqual([request.body, request.headers['content-length']], ['hello', '5'])
      })
  })

  it('takes from an answer what is about the other connection', async () => {
    await using other = await startTestGateway()
    const removed = { 'Keep-Alive': 'timeout=77', 'Proxy-Authenticate': 'Basic', 'X-Request-Id': 'its own' }
    const kept = { 'X-Kept': 'yes', 'Set-Cookie': ['a=1', 'b=2'] }
    other.answerWith((_request, response) => void response.writeHead(200, { ...removed, ...kept }).end('x'))
    const { headers } = await fetch(`${other.url}/v1/session`)
    assert.notEqual(headers.get('keep-alive'), 'timeout=77')
    assert.deepEqual([headers.get('proxy-authenticate'), headers.get('x-kept')], [null, 'yes'])
    assert.match(headers.get('x-request-id') ?? '', UUID)
    assert.deepEqual(headers.getSetCookie(), ['a=1', 'b=2'])
  })
})
