import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { sharedApi } from '../support/api.ts'

describe('bytes that are no HTTP request', () => {
  const api = sharedApi()

  async function exchange(bytes: string): Promise<string> {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    socket.end(bytes)
    return text(socket)
  }

  for (const [what, bytes, status] of [
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a head over 16 KiB', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
    ['two Hosts', 'GET /v1/session HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n', 400],
  ] as const)
    it(`answers ${what} with a problem and a request id`, async () => {
      const [head = '', body = ''] = (await exchange(bytes)).split('\r\n\r\n')
      const problem = JSON.parse(body)
      assert.match(head, new RegExp(`^HTTP/1.1 ${status} `))
      assert.match(head, /content-type: application\/problem\+json/i)
      assert.match(head, /cache-control: no-store/i)
      assert.equal(problem.status, status)
      assert.ok(head.includes(problem.requestId))
    })
})
