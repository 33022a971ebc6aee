import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import type { TlsOptions } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { adviceOnStatus } from '../../../apps/api/callbacks/advice.ts'
import type { TestResult } from '../../../apps/api/callbacks/test-result.ts'
import { forBlock } from '../../support/block.ts'
import { eventually } from '../../support/eventually.ts'
import { answering, startHttpsReceiver, startTlsReceiver } from '../../support/receivers.ts'
import { assertUnconfirmed, createResolution, resolverWith, sendTo } from './sending.ts'

const http = (status: string, ...lines: string[]): string =>
  [`HTTP/1.1 ${status}`, ...lines, '', ''].join('\r\n')

/** Sends to a receiver that talks as given, and looks that no connection stays open. */
async function answerOf(talk: Parameters<typeof startTlsReceiver>[0]['talk'], tls: TlsOptions = {}) {
  await using receiver = await startTlsReceiver({ talk, tls })
  const result = await sendTo(receiver.url)
  assert.equal(receiver.connections, 1)
  await eventually(() => receiver.open.size === 0, { otherwise: () => 'its connection is still open' })
  return result
}

function assertDelivered(result: TestResult, status: number, outcome: TestResult['outcome']): void {
  assert.deepEqual([result.delivered, result.status, result.outcome], [true, status, outcome])
}

describe('a test send that is answered', () => {
  describe('sends', () => {
    let result: TestResult
    let request: { line: string; headers: string[]; body: string }
    const receiver = forBlock(() =>
      startHttpsReceiver(async (incoming, answer) => {
        const { method, url, rawHeaders: headers } = incoming
        request = { line: `${method} ${url}`, headers, body: await text(incoming) }
        answer.writeHead(202).end('thank you')
      }),
    )
    before(async () => {
      result = await sendTo(`${receiver.url}?a=b`)
    })

    it('sends one POST to the saved URL', () => {
      assert.deepEqual([request.line, receiver.connections], ['POST /hook?a=b', 1])
    })

    it('sends type, vendorId and sentAt as JSON, and nothing else', () => {
      const body = JSON.parse(request.body)
      assert.deepEqual(body, { type: 'test_event', vendorId: 'ven_acme', sentAt: result.sentAt })
      assert.ok(Math.abs(Date.parse(result.sentAt) - Date.now()) < 60_000)
    })

    it('sends no credential, no signature and no header field of our own', () => {
      const names = request.headers.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
      const expected = 'accept-encoding connection content-length content-type host user-agent'
      assert.equal(names.sort().join(' '), expected)
      for (const value of ['application/json', 'identity', 'close'])
        assert.ok(request.headers.includes(value), value)
    })

    it('reports what happened to a test send', () => {
      assertDelivered(result, 202, 'success')
      const expected = [`${receiver.url}?a=b`, 'The receiver accepted the test event.', '127.0.0.1']
      assert.deepEqual([result.url, result.advice, result.receiver?.address], expected)
      assert.ok(result.log.includes('| thank you'), result.log.join('\n'))
    })
  })

  for (const status of [200, 204, 299])
    it(`counts ${status} as success`, async () =>
      assertDelivered(await answerOf(answering(http(`${status} Any`))), status, 'success'))

  for (const [status, advice] of [
    [300, /redirects \(300\)/],
    [301, /redirects \(301\), and redirects are not followed/],
    [304, /not a valid answer to a POST/],
    [401, /requires authentication \(401\)/],
    [404, /check the path/],
    [418, /refused the event \(418\)/],
    [503, /is unavailable/],
    [599, /failed while handling the event \(599\)/],
  ] as const)
    it(`counts ${status} as a receiver failure and says what to do`, async () => {
      const result = await answerOf(answering(http(`${status} Any`)))
      assertDelivered(result, status, 'receiver_failure')
      assert.match(result.advice, advice)
    })

  it('names in its advice the status that came, whichever it is', () => {
    for (let status = 300; status < 600; status += 1)
      assert.match(adviceOnStatus(status), RegExp(`${status}`))
  })

  for (const status of [301, 307])
    it(`does not follow a ${status} to an internal address`, async () => {
      await using trap = await startTlsReceiver({ talk: answering(http('200 OK')), host: '127.0.0.2' })
      await using receiver = await startTlsReceiver({
        talk: answering(http(`${status} Any`, `Location: https://127.0.0.2:${trap.port}/`)),
      })
      const { resolve, names } = resolverWith(createResolution('127.0.0.1'), createResolution('127.0.0.2'))
      const result = await sendTo(receiver.url, { resolve })
      assertDelivered(result, status, 'receiver_failure')
      assert.deepEqual([trap.connections, receiver.connections, names.length], [0, 1, 1])
      assert.doesNotMatch(result.advice, /127\.0\.0\.2/)
    })

  it('does not name a redirect target that holds a secret', async () => {
    for (const path of ['?access_token=Zm8xQpL9vRt2WsY7', 'token=Zm8xQpL9vRt2WsY7']) {
      const result = await answerOf(answering(http('302 Any', `Location: https://hooks.acme.com/${path}`)))
      assert.doesNotMatch(JSON.stringify(result), /Zm8xQpL9/)
    }
  })

  for (const [what, said] of [
    ['an HTTP/1.0 answer', 'HTTP/1.0 200 OK\r\n\r\nfine'],
    ['interim answers before the last', http('103 Any', 'Link: </a>') + http('100 Any') + http('200 OK')],
    ['an answer that a second one follows', http('200 OK', 'Content-Length: 0') + http('500 No')],
  ] as const)
    it(`accepts ${what}`, async () => assertDelivered(await answerOf(answering(said)), 200, 'success'))

  it('takes an answer that comes before the request was read', async () => {
    const result = await answerOf((socket) => socket.end(http('429 Too Many Requests', 'Retry-After: 9')))
    assertDelivered(result, 429, 'receiver_failure')
    assert.ok(result.log.includes('| retry-after: 9'))
  })

  it('shows the body as plain text, marked as the receiver’s', async () => {
    const head = http('200 OK', 'X-Forged: \u009b31mred', 'Set-Cookie: sid=abcdef')
    const body =
      'answer: 500 Internal Server Error\n<b>bold</b> <script>alert(1)</script>password=Zm8xQpL9vRt2WsY7'
    const result = await answerOf(answering(Buffer.from(head + body, 'latin1')))
    assert.deepEqual(result.log.slice(-5), [
      `answer: 200 OK (${result.timings.firstByteMs} ms)`,
      '| x-forged: red',
      '| set-cookie: [redacted]',
      '| answer: 500 Internal Server Error',
      '| bold password=[redacted]',
    ])
  })

  it('shows 30 header fields, and how many more there were', async () => {
    for (const [more, last] of [
      [0, '| x-29: y'],
      [3, '… and 3 more headers'],
    ] as const) {
      const fields = Array.from({ length: 30 + more }, (_, index) => `X-${index}: y`)
      const { log } = await answerOf(answering(http('204 No Content', ...fields)))
      assert.equal(log.filter((line) => line.startsWith('| x-')).length, 30)
      assert.equal(log.filter(Boolean).at(-1), last)
    }
  })

  it('keeps the status when the connection is reset in the body', async () => {
    const result = await answerOf((socket, reset) => {
      socket.write(`${http('200 OK', 'Content-Length: 1000')}the beginning of it`)
      setTimeout(reset, 100)
    })
    assertDelivered(result, 200, 'success')
    assert.deepEqual(result.log.slice(-2), [
      '| the beginning of',
      'the connection broke before the body was complete',
    ])
  })

  for (const [what, said] of [
    ['chunks without a size', `${http('200 OK', 'Transfer-Encoding: chunked')}2\r\nok\r\nzz\r\n`],
    ['more than its length', `${http('200 OK', 'Content-Length: 2', 'Connection: close')}ok and more`],
  ] as const)
    it(`keeps the status of a body that breaks HTTP: ${what}`, async () => {
      const result = await answerOf(answering(said))
      assertDelivered(result, Number(said.slice(9, 12)), 'success')
      const note = 'the rest of the body breaks HTTP/1.1: a wrong chunk, or bytes after the end'
      assert.ok(result.log.includes(note), result.log.join('\n'))
    })

  for (const [what, length, body, isCut] of [
    ['takes a body of exactly 16 KiB whole', 16_384, 'x '.repeat(8_192), false],
    ['cuts a body at once after 16 KiB, though nothing more comes', 99_999, `${'x '.repeat(8_192)}y`, true],
  ] as const)
    it(what, async () => {
      const said = `${http('200 OK', `Content-Length: ${length}`)}${body}`
      const result = await answerOf((socket) => void socket.once('data', () => socket.write(said)))
      assertDelivered(result, 200, 'success')
      assert.equal(result.log.includes('the body was cut after 16 KiB'), isCut, result.log.join('\n'))
      // Silence would be waited for up to 5 s.
      assert.ok(result.durationMs < 4_000, `${result.durationMs} ms`)
    })

  it('cuts a body that drips, and says where', async () => {
    const result = await answerOf((socket) => {
      socket.write(http('200 OK'))
      const drip = setInterval(() => socket.write('drop '), 100)
      socket.on('close', () => clearInterval(drip))
    })
    assertDelivered(result, 200, 'success')
    assert.ok(result.durationMs < 4_000)
    assert.ok(result.log.includes('the body was cut after 2 seconds'), result.log.join('\n'))
    assert.ok(result.log.some((line) => line.startsWith('| drop drop')))
  })

  it('only describes a compressed body', async () => {
    const packed = gzipSync('secret '.repeat(1_000_000))
    const head = http('200 OK', 'Content-Encoding: gzip', `Content-Length: ${packed.length}`)
    const result = await answerOf(answering(Buffer.concat([Buffer.from(head), packed])))
    assertDelivered(result, 200, 'success')
    const size = packed.length.toLocaleString('en-US')
    const described = `a compressed body, ${size} bytes read; it is not decompressed`
    assert.ok(result.log.includes(described), result.log.join('\n'))
  })
})

describe('a test send that is not answered in HTTP', () => {
  const NO_HTTP = /^The answer does not begin with a status line/
  const VERSION = /another version of HTTP than 1\.1/
  const STATUS = /no status from 200 to 599/
  const HEADER_NAME = /has no valid name before its colon/
  const LINE_END = /does not end in CR LF/
  const CLOSED = /closed the connection/
  const TOO_LARGE = /more than 16 KiB or 500 lines/
  const SECOND_TLS = /^Behind its TLS, the receiver expects TLS/
  const LENGTH = 'Content-Length: 2'
  const CHUNKED = 'Transfer-Encoding: chunked'
  const SWITCHING = '101 Switching Protocols'
  for (const [what, talk, advice] of [
    ['garbage', answering('garbage\r\n\r\n'), NO_HTTP],
    ['the header fields of a CGI program', answering('Status: 200 OK\r\n\r\n'), NO_HTTP],
    ['a warning that is printed first', answering(`Warning: x\n${http('200 OK')}`), NO_HTTP],
    ['a TLS alert', answering(Buffer.from('15030300020246', 'hex')), SECOND_TLS],
    ['HTTP/0.9 in a status line', answering('HTTP/0.9 200 OK\r\n\r\n'), VERSION],
    ['HTTP/2 in a status line', answering('HTTP/2 200\r\n\r\n'), VERSION],
    ['HTTP/2.0 in a status line', answering('HTTP/2.0 200 OK\r\n\r\n'), VERSION],
    ['status 099', answering(http('099 Any')), STATUS],
    ['status 600', answering(http('600 Any')), STATUS],
    ['no status', answering(http('OK')), STATUS],
    ['a length and chunks', answering(http('200 OK', LENGTH, CHUNKED)), /both Content-Length and Transfer-E/],
    ['one length twice', answering(http('200 OK', LENGTH, LENGTH)), /has Content-Length twice/],
    ['a negative length', answering(http('200 OK', 'Content-Length: -1')), /is not one whole number/],
    ['a folded header field', answering(http('200 OK', 'X: y', '  z')), /is continued on the next line/],
    ['a space before the fields', answering(http('200 OK', ' X: y')), /is continued on the next line/],
    ['LF alone', answering('HTTP/1.1 200 OK\nContent-Length: 0\n\n'), LINE_END],
    ['LF alone after a field', answering('HTTP/1.1 200 OK\r\nX: y\n\r\n'), LINE_END],
    ['CR in a field', answering(http('200 OK', 'X: a\rb')), LINE_END],
    ['a space before the colon', answering(http('200 OK', 'Content-Length : 0')), HEADER_NAME],
    ['a header name with a space', answering(http('200 OK', 'a b: c')), HEADER_NAME],
    ['a line without a colon', answering(http('200 OK', 'abc')), HEADER_NAME],
    ['a control character in a field', answering(http('200 OK', 'X: a\u0001b')), /a control character/],
    ['an end before the status line', answering(''), CLOSED],
    ['an end before the header fields end', answering('HTTP/1.1 200 OK\r\nX: y\r\n'), CLOSED],
    ['one header field of 20 KiB', answering(http('200 OK', `X: ${'y'.repeat(20_480)}`)), TOO_LARGE],
    ['600 header fields', answering(http('200 OK', ...Array(600).fill('X: y'))), TOO_LARGE],
    ['101', answering(http(SWITCHING, 'Connection: upgrade', 'Upgrade: x'), { end: false }), /interim/],
    ['101 without Upgrade', answering(http(SWITCHING), { end: false }), /interim/],
  ] as const)
    it(`reports a send as unconfirmed after ${what}`, async () => {
      const result = await answerOf(talk)
      assertUnconfirmed(result, advice)
      assert.equal(result.receiver?.address, '127.0.0.1')
    })

  it('reports a send as unconfirmed after a reset', async () =>
    assertUnconfirmed(await answerOf((_socket, reset) => reset()), CLOSED))

  it('reports a send as unconfirmed when the receiver speaks only HTTP/2', async () =>
    assertUnconfirmed(await answerOf(() => {}, { ALPNProtocols: ['h2'] }), VERSION))
})
