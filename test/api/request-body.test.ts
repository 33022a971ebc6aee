import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { performance } from 'node:perf_hooks'
import { finished } from 'node:stream/promises'
import { type ApiRequest, sharedApi } from '../support/api.ts'
import { afterwards } from '../support/block.ts'
import { collectText } from '../support/collect-text.ts'
import { eventually } from '../support/eventually.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'

const VALID = JSON.stringify({ name: 'Warehouse', scopes: ['analytics:read'] })

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
  const post = (request: ApiRequest) => api.request('POST', path, { token, ...request })

  it('refuses a body without a Content-Type', async () => {
    const response = await post({ headers: {} })
    assertProblem(response, 'unsupported_media_type')
    assert.equal(response.headers.get('accept'), 'application/json')
  })

  it('accepts a body of 65,536 bytes', async () => {
    const padded = VALID.padEnd(65_536)
    assert.equal((await send(padded)).status, 201)
    assertProblem(await send(`${padded} `), 'payload_too_large')
  })

  it('refuses as malformed a body that is not UTF-8', async () =>
    assertProblem(
      await send(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
      'malformed_json',
    ))

  for (const [what, body] of [
    ['16,001 values', `[1${',1'.repeat(15_999)}]`],
    ['nesting 33 deep in a member', `{"name":${'{"a":'.repeat(32)}1${'}'.repeat(33)}`],
  ] as const)
    it(`refuses as invalid a body that has ${what}`, async () => assertInvalid(await send(body), ''))

  it('may hold as many values as the documents say', async () => {
    for (const document of ['/docs/events.md', '/openapi.json'])
      assert.match((await api.request('GET', document)).text, / at most 1 MiB and 16,000 JSON values/)
  })

  it('accepts nesting 32 deep, and does not count brackets in a text', async () => {
    const nested = (levels: number) =>
      `{"name":"[[{\\"${'['.repeat(50)}","x":${'['.repeat(levels)}${']'.repeat(levels)}}`
    assertInvalid(await send(nested(31)), '/scopes', '/x')
    assertInvalid(await send(nested(32)), '')
  })

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

  it('names at most 20 errors', async () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x${index}`, 1]))
    assert.equal((await send(JSON.stringify({ ...JSON.parse(VALID), ...many }))).json.errors.length, 20)
  })

  it('does not repeat the long name of an unknown member', async () => {
    const sendWith = (name: string) => send(JSON.stringify({ ...JSON.parse(VALID), [name]: 1 }))
    assertInvalid(await sendWith('x'.repeat(256)), '')
    assertInvalid(await sendWith('x'.repeat(255)), `/${'x'.repeat(255)}`)
  })

  it('checks the caller before the body: 401 and 403, then 415, 413, 400, 422', async () => {
    const stranger = (await api.createPerson()).sessionToken
    for (const request of [
      { body: 'x', headers: { 'content-type': 'text/plain' } },
      { body: 'x'.repeat(70_000) },
      { body: '{' },
      { body: '{}' },
    ]) {
      assertProblem(await api.request('POST', path, request), 'unauthenticated')
      assertProblem(await api.request('POST', path, { ...request, token: stranger }), 'forbidden')
    }
    const large = { body: 'x'.repeat(70_000) }
    const text = { ...large, headers: { 'content-type': 'text/plain' } }
    assertProblem(await post(text), 'unsupported_media_type')
    assertProblem(await post(large), 'payload_too_large')
  })
})
