import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { sharedApi } from '../support/api.ts'

describe('bytes that are no HTTP request', () => {
  const api = sharedApi()

  async function exchange(bytes: string): Promise<string> {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    socket.end(bytes)
    let text = ''
    for await (const chunk of socket) text += chunk
    return text
  }

  for (const [what, bytes, status] of [
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a head over 16 KiB', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ] as const) {
    it(`answers ${what} with a problem and a request id`, async () => {
      const [head = '', body = ''] = (await exchange(bytes)).split('\r\n\r\n')
      const problem = JSON.parse(body)
      assert.match(head, new RegExp(`^HTTP/1.1 ${status} `))
      assert.match(head, /content-type: application\/problem\+json/i)
      assert.equal(problem.status, status)
      assert.ok(head.includes(problem.requestId))
    })
  }

  for (const target of [
    'http://[::1/v1/session',
    'http://[::1/',
    'http://x:99999/v1/session',
    'http://%/v1/session',
    'http://',
    'http://user@x/v1/session',
  ])
    it(`answers 400 to the request target ${target}, whose authority is broken`, async () => {
      const warnings: string[] = []
      const note = ({ message }: Error) => void warnings.push(message)
      process.on('warning', note)
      const [head = '', body = ''] = (
        await exchange(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
      ).split('\r\n\r\n')
      process.off('warning', note)
      assert.match(head, /^HTTP\/1\.1 400 /)
      assert.match(head, /content-type: application\/problem\+json/i)
      assert.equal(JSON.parse(body).detail, 'The request target is not a valid URL.')
      assert.ok(head.includes(JSON.parse(body).requestId), body)
      // Node warns (DEP0170) when it takes what is no URL for one.
      assert.deepEqual(warnings, [])
    })

  it('says what is wrong with two Hosts, in a problem with a request id', async () => {
    const answer = await exchange('GET /v1/session HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n')
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    const { type, status, detail, requestId } = JSON.parse(body)
    assert.deepEqual([type, status, detail], ['about:blank', 400, 'Send one valid Host field.'])
    assert.ok(head.includes(`X-Request-Id: ${requestId}`))
  })

  it('takes an absolute request target for its path (RFC 9112 §3.2.2)', async () => {
    const target = 'http://elsewhere.example/v1/session?'
    const [head = ''] = (
      await exchange(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    ).split('\r\n\r\n')
    assert.match(head, /^HTTP\/1\.1 401 /)
  })
})
