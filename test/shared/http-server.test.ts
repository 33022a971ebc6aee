import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer, get, type Server } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { createHttpServer, drain, listen } from '#shared/process/http-server.ts'
import { createApiServer } from '../../apps/api/http/server.ts'
import { createAuthServer } from '../../apps/auth/server.ts'
import { afterwards } from '../support/block.ts'
import { collectText } from '../support/collect-text.ts'
import { eventually } from '../support/eventually.ts'

const LIMITS = { requestTimeout: 3_000, headersTimeout: 1_500, maxHeaderSize: 16_384 }

describe('createHttpServer', () => {
  let server: Server
  let port: number
  /** Requests that reached the listener. */
  let passed = 0
  /** Holds back the answer to `/slow`. */
  const slow = Promise.withResolvers<void>()
  before(async () => {
    server = createHttpServer(
      async (request, response) => {
        passed++
        if (request.url === '/slow') await slow.promise
        const body = await text(request).catch(() => 'broken')
        response.setHeader('X-Request-Id', 'of-the-listener')
        response.end(JSON.stringify({ ...request.headers, url: request.url, body }))
      },
      LIMITS,
      (body) => ({ contentType: 'application/json', body }),
    )
    port = await listen(server, { host: '127.0.0.1', port: 0 })
  })
  after(() => drain(server, 0))

  /** Sends the parts, each once the part before was answered. Returns all that comes back until the end. */
  async function exchange(...parts: string[]): Promise<string> {
    const socket = connect(port, '127.0.0.1')
    const received = collectText(socket)
    socket.on('error', () => {})
    for (const part of parts) {
      const before = received().length
      socket.write(part)
      if (part !== parts.at(-1)) await eventually(() => received().length > before)
    }
    await once(socket, 'close')
    return received()
  }
  const get11 = (target: string, ...fields: string[]) =>
    `GET ${target} HTTP/1.1\r\n${['Connection: close', ...fields].join('\r\n')}\r\n\r\n`
  const HOST = 'Host: x'
  const LONG = 'x'.repeat(17_000)
  const MANY = [...Array(1_000).fill('a:'), 'X-Forwarded-For: 192.0.2.1']
  const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))

  for (const [what, bytes, url, host] of [
    ['a path', get11('/a?b=/../c', HOST), '/a?b=/../c', 'x'],
    ['an absolute target', get11('http://y.test:80/a?b', HOST), '/a?b', 'y.test:80'],
    ['an absolute target without a path', get11('HTTPS://y.test?b', HOST), '/?b', 'y.test'],
    ['an absolute target with two slashes in its path', get11('http://y.test//a', HOST), '//a', 'y.test'],
    ['*', get11('*', HOST).replace('GET', 'OPTIONS'), '*', 'x'],
    ['an empty Host', get11('/', 'Host:'), '/', ''],
    ['an IPv6 address as Host', get11('/', 'Host: [::1]:80'), '/', '[::1]:80'],
    ['HTTP/1.0 without a Host', 'GET / HTTP/1.0\r\n\r\n', '/', undefined],
    ['a request to upgrade', get11('/', HOST, 'Connection: upgrade', 'Upgrade: h2c'), '/', 'x'],
    ['empty lines before the request', `\r\n\r\n${get11('/', HOST)}`, '/', 'x'],
  ] as const)
    it(`accepts ${what}`, async () => {
      const answer = await exchange(bytes)
      assert.match(answer, /^HTTP\/1\.1 200 /)
      assert.deepEqual([bodyOf(answer).url, bodyOf(answer).host], [url, host])
    })

  const form = 'Content-Type: application/x-www-form-urlencoded'
  for (const [what, bytes, status] of [
    ['another expectation than 100-continue', get11('/', HOST, 'Expect: 200-ok'), 417],
    ['no Host', get11('/'), 400],
    ['two Hosts', get11('/', HOST, HOST), 400],
    ['two Hosts in HTTP/1.0', get11('/', HOST, HOST).replace('1.1', '1.0'), 400],
    ['a Host with a path', get11('/', 'Host: x/y'), 400],
    ['a list of Hosts', get11('/', 'Host: x, y.'), 400],
    ['an absolute target with a user', get11('http://u@y.test/a', HOST), 400],
    ['an absolute target without a host', get11('http:///a', HOST), 400],
    ['a target of another scheme', get11('ftp://y.test/a', HOST), 400],
    ['a target that is neither path nor URL', get11('a', HOST), 400],
    ['an absolute target with an invalid host', get11('http://%/a', HOST), 400],
    ['CONNECT', get11('y.test:22', HOST).replace('GET', 'CONNECT'), 501],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['a folded field', get11('/', HOST, 'X-Forwarded-For: 192.0.2.1\r\n , 192.0.2.2'), 400],
    ['a space before the colon', get11('/', HOST, 'X-Forwarded-For : 192.0.2.1'), 400],
    ['a bare line feed', get11('/', HOST).replaceAll('\r\n', '\n'), 400],
    ['two Content-Types', get11('/', HOST, form, form), 400],
    ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['a length and chunks', get11('/', HOST, 'Content-Length: 5', 'Transfer-Encoding: chunked'), 400],
    ['two lengths', get11('/', HOST, 'Content-Length: 0', 'Content-Length: 0'), 400],
    ['fields that are too long', get11('/', HOST, `X: ${LONG}`), 431],
    ['so many fields that the last, which a proxy adds, would be lost', get11('/', HOST, ...MANY), 431],
    ['a head that never ends', 'GET / HTTP/1.1\r\nHost: x\r\n', 408],
  ] as const)
    it(`refuses ${what} with ${status} and a request id`, async () => {
      const answer = await exchange(bytes)
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `))
      const { status: stated, requestId } = bodyOf(answer)
      assert.equal(stated, status)
      assert.match(requestId, /^[0-9a-f-]{36}$/)
      for (const field of [`X-Request-Id: ${requestId}`, 'Cache-Control: no-store', 'Connection: close'])
        assert.ok(answer.includes(`\r\n${field}\r\n`), field)
    })

  for (const [what, bytes, status] of [
    ['fields that are too long', get11('/', HOST, `X: ${LONG}`), 431],
    ['a malformed request', 'hello\r\n\r\n', 400],
    ['a head that never ends', 'GET / HTTP/1.1\r\nHost: x\r\n', 408],
  ] as const)
    it(`refuses ${what} with ${status} also on a connection that it has answered on`, async () => {
      const answers = await exchange('GET / HTTP/1.1\r\nHost: x\r\n\r\n', bytes)
      assert.match(answers, new RegExp(`^HTTP/1\\.1 200 .*\\}HTTP/1\\.1 ${status} `, 's'))
    })

  it('sends no refusal where the answer to an earlier request is due', async () => {
    assert.equal(await exchange('GET /slow HTTP/1.1\r\nHost: x\r\n\r\nhello\r\n\r\n'), '')
    slow.resolve()
  })

  it('does not pass on what comes after a refusal on the same connection', async () => {
    const before = passed
    await exchange(`GET /a HTTP/1.1\r\n\r\n${get11('/b', HOST)}`)
    assert.equal(passed, before)
  })

  // No limit could count it: Node no longer knows its address.
  it('does not pass on the request of a sender that has reset the connection', async () => {
    const before = passed
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(get11('/a', HOST), () => socket.resetAndDestroy()),
    )
    await once(socket, 'close')
    await exchange(get11('/b', HOST))
    assert.equal(passed, before + 1)
  })

  it('gives time to read a refusal while more arrives', async () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    await using _ = afterwards(() => socket.destroy())
    const received = collectText(socket)
    socket.on('error', () => {}).write(`GET / HTTP/1.1\r\nX: ${LONG}`)
    await eventually(() => received().endsWith('}'))
    await new Promise((resolve) => socket.write(LONG, resolve))
    assert.equal(await Promise.race([once(socket, 'close'), setTimeout(300, 'open')]), 'open')
  })

  it('answers HEAD without Host by the fields alone', async () =>
    assert.match(await exchange('HEAD / HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 400 .*\r\n\r\n$/s))

  for (const [what, bytes] of [
    ['a head that never ends', 'GET / HTTP/1.1\r\nHost: x\r\n'],
    ['what is no request', 'hello\r\n\r\n'],
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ] as const)
    it(`closes after the refusal of ${what}, even if the sender never does`, async () => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(bytes))
      await using _ = afterwards(() => socket.destroy())
      socket.resume().on('error', () => {})
      await once(socket, 'end')
      await untilClosed()
    })

  // Node leaves the errors of such a connection to its taker. One without a listener ends the process.
  it('survives a sender of CONNECT that resets the connection', async () => {
    const socket = connect(port, '127.0.0.1', () => socket.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'))
    await once(socket, 'data')
    socket.resetAndDestroy()
    await untilClosed()
  })

  const count = () => new Promise((resolve) => server.getConnections((_, open) => resolve(open)))
  const untilClosed = () => eventually(async () => (await count()) === 0)
})

describe('the time that an unknown sender has in production', () => {
  for (const [service, server, head_ms, request_ms] of [
    ['authorization server', createAuthServer(() => {}), 5_000, 10_000],
    ['resource API', createApiServer(() => {}), 10_000, 30_000],
  ] as const)
    it(`is ${head_ms} ms for the head and ${request_ms} ms for the request: ${service}`, () =>
      assert.partialDeepStrictEqual(server, {
        headersTimeout: head_ms,
        requestTimeout: request_ms,
        connectionsCheckingInterval: 1_000,
      }))
})

describe('drain', () => {
  it('lets a request in flight finish, then ends, though its caller keeps the connection', async () => {
    const server = createServer({ keepAliveTimeout: 60_000 })
    const arrived = once(server, 'request')
    const port = await listen(server, { host: '127.0.0.1', port: 0 })
    const agent = new Agent({ keepAlive: true })
    const answered = once(get({ port, agent }), 'response')
    const [, response] = await arrived
    // Longer than a test may take.
    const drained = drain(server, 60_000)
    response.end('whole')
    await drained
    assert.equal(await text((await answered)[0]), 'whole')
    agent.destroy()
  })

  it('cuts what is left at the deadline', async () => {
    const server = createServer()
    const arrived = once(server, 'request')
    const port = await listen(server, { host: '127.0.0.1', port: 0 })
    const cut = new Promise((resolve) => get({ port }).on('error', resolve))
    await arrived
    await drain(server, 100)
    await cut
  })
})
