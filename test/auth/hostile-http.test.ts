import { strict as assert } from 'node:assert'
import { connect } from 'node:net'
import { sharedAuth, tokenFields } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { collectText } from '../support/collect-text.ts'

const FORM = 'content-type: application/x-www-form-urlencoded'

describe('hostile HTTP', () => {
  const auth = sharedAuth({ timeouts: {} })
  const client = forBlock(() => auth.createClient())
  afterEach(async () => {
    assert.equal((await auth.token(client)).status, 200, 'the server no longer serves')
    assert.ok(!auth.logLines.some((line) => line.includes('request.failed')))
  })

  /** Writes bytes, and then more again and again. Returns all that comes back until the server closes. */
  const exchange = (bytes: string, more = () => '', every_ms = 5) =>
    new Promise<string>((resolve, reject) => {
      const { hostname, port } = new URL(auth.url)
      const socket = connect(Number(port), hostname)
      socket.write(bytes)
      const writing = setInterval(() => socket.writable && socket.write(more()), every_ms)
      const received = collectText(socket)
      socket.on('error', () => {}).on('close', () => resolve(received()))
      socket.on('close', () => clearInterval(writing))
      socket.setTimeout(18_000, () => reject(new Error('the server kept the connection')))
    })
  const parseStatus = (text: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
  const bodyOf = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4)
  const post = (...headers: string[]) =>
    `${['POST /v1/oauth/token HTTP/1.1', 'host: x', FORM, ...headers].join('\r\n')}\r\n\r\n`

  it('refuses a repeated Authorization header', async () => {
    const { client_id, client_secret, ...rest } = tokenFields(client)
    const body = new URLSearchParams(rest).toString()
    const right = `authorization: Basic ${btoa(`${client_id}:${client_secret}`)}`
    const wrong = `authorization: Basic ${btoa(`${client_id}:x`)}`
    const head = post(right, wrong, 'connection: close', `content-length: ${body.length}`)
    const text = await exchange(head + body)
    assert.equal(parseStatus(text), 400)
    assert.match(JSON.parse(bodyOf(text)).error_description, /not by several Authorization headers$/)
  })

  it('answers a body of a gigabyte at once and closes', async () => {
    const text = await exchange(post('content-length: 1000000000'))
    assert.equal(parseStatus(text), 400)
    assert.equal(JSON.parse(bodyOf(text)).error, 'invalid_request')
  })

  it('reads at most a mebibyte of an endless body', async () => {
    const chunk = `${(65_536).toString(16)}\r\n${'x'.repeat(65_536)}\r\n`
    let sent = 0
    const text = await exchange(post('transfer-encoding: chunked'), () => {
      sent += 1
      return chunk
    })
    assert.equal(parseStatus(text), 400)
    assert.ok(sent < 200, `${sent} chunks were taken`)
  })

  it('cuts off a body that trickles', async () => {
    const text = await exchange(post('content-length: 5000'), () => 'x', 500)
    assert.ok(text === '' || parseStatus(text) === 408, text)
  })

  it('survives senders that go away in the middle', async () => {
    const { hostname, port } = new URL(auth.url)
    const gone = Array.from({ length: 20 }, (_, i) => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {}).write(post('content-length: 500') + 'x'.repeat(i * 20))
      setTimeout(() => socket.destroy(), i * 5)
      return new Promise((resolve) => socket.once('close', resolve))
    })
    await Promise.all(gone)
  })

  it('asks for the body of a sender that expects it to', async () => {
    const body = new URLSearchParams(tokenFields(client)).toString()
    const head = post('expect: 100-continue', 'connection: close', `content-length: ${body.length}`)
    const rest = [body]
    const text = await exchange(head, () => rest.pop() ?? '', 100)
    assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/)
  })
})
