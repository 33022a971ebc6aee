import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { performance } from 'node:perf_hooks'
import { finished } from 'node:stream/promises'
import { sharedApi } from '../support/api.ts'
import { afterwards } from '../support/block.ts'
import { collectText } from '../support/collect-text.ts'
import { eventually } from '../support/eventually.ts'
import { assertProblem } from '../support/problem.ts'

describe('a JSON body', () => {
  const api = sharedApi()
  let path: string
  let token: string
  before(async () => {
    const owner = await api.createOwner()
    path = `/v1/vendor/${owner.vendorId}/oauth-clients`
    token = owner.sessionToken
  })

  const own = () => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
  async function send(body: BodyInit, more: Record<string, string> = {}) {
    const response = await fetch(`${api.url}${path}`, {
      method: 'POST',
      headers: { ...own(), ...more },
      body,
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
  }
  /** Begins a request whose body has that length. */
  function announce(length: number) {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    const fields = `Host: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`
    socket.write(`POST ${path} HTTP/1.1\r\n${fields}Content-Length: ${length}\r\n\r\n`)
    return { socket, text: collectText(socket) }
  }

  it('refuses as malformed a body that is not UTF-8', async () =>
    assertProblem(await send(Buffer.from('{"\xff\xfe":1}', 'latin1')), 'malformed_json'))

  it('refuses a body over the limit before it comes, and lets its sender finish and read the answer', async () => {
    const { socket, text } = announce(1_100_000)
    await eventually(() => text().startsWith('HTTP/1.1 413 '))
    // A connection that was closed would be reset by the rest of the body, and the answer with it.
    socket.write('x'.repeat(1_100_000))
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    await finished(socket)
    assert.match(text(), /\r\nHTTP\/1\.1 200 |}HTTP\/1\.1 200 /)
  })

  it('closes the connection of a body far over the limit', async () => {
    const { socket, text } = announce(5_000_000)
    await once(socket, 'close')
    assert.match(text(), /^HTTP\/1\.1 413 /)
    assert.match(text(), /\r\nConnection: close\r\n/i)
  })

  it('gives up on a body that stops after 3 s, and later on one that comes too slowly', async () => {
    const given: string[] = []
    const begin = (what: string) => {
      const request = httpRequest(`${api.url}${path}`, { method: 'POST', headers: own() })
      request.on('error', () => {})
      const ended = once(request, 'response').then(([response]) => {
        given.push(`${what}: ${response.statusCode}, ${response.headers.connection}`)
        request.destroy()
      })
      request.write('{')
      return { request, ended }
    }
    const slow = begin('too slow')
    const drip = setInterval(() => slow.request.write(' '), 500)
    await using _ = afterwards(() => clearInterval(drip))
    const started_ms = performance.now()
    await begin('stopped').ended
    assert.ok(performance.now() - started_ms > 2_900)
    await slow.ended
    assert.deepEqual(given, ['stopped: 408, close', 'too slow: 408, close'])
  })
})
