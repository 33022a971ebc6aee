import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import type { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'
import type { TestResult } from '../../../apps/api/callbacks/report.ts'
import { authority, startTlsReceiver } from '../../support/receivers.ts'

const run = promisify(execFile)
const MB = 1_048_576

describe('a test send to a receiver that answers without end', () => {
  async function flood(talk: (socket: TLSSocket, count: (bytes: number) => void) => void) {
    let sent_bytes = 0
    const receiver = await startTlsReceiver({
      talk: (socket) =>
        talk(socket, (bytes) => {
          sent_bytes += bytes
        }),
    })
    const { stdout } = await run(process.execPath, ['test/support/send-once.ts', receiver.url, authority.pem])
    await receiver.stop()
    const { result, grown_bytes, took_ms } = JSON.parse(stdout)
    return { result: result as TestResult, grown_bytes, took_ms, sent_bytes }
  }
  function pour(socket: TLSSocket, chunk: Buffer | string, count: (bytes: number) => void): void {
    const more = () => {
      while (!socket.destroyed && socket.write(chunk)) count(chunk.length)
      count(chunk.length)
    }
    socket.on('drain', more)
    more()
  }

  for (const [what, head] of [
    ['10 GB', 'HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n'],
    ['a body of no stated length', 'HTTP/1.1 200 OK\r\n\r\n'],
  ] as const) {
    it(`reads a little of ${what}, with flat memory`, async () => {
      const { result, grown_bytes, took_ms, sent_bytes } = await flood((socket, count) => {
        socket.write(head)
        pour(socket, Buffer.alloc(65_536, 'abcdefg '), count)
      })
      assert.equal(result.outcome, 'success')
      assert.ok(result.log.includes('the body was cut after 16 KiB'))
      assert.ok(grown_bytes < 40 * MB, `${grown_bytes} bytes`)
      assert.ok(sent_bytes < 64 * MB, `${sent_bytes} bytes`)
      assert.ok(took_ms < 2_000, `${took_ms} ms`)
      assert.ok(JSON.stringify(result.log).length < 20_000)
    })
  }

  it('reads a little of endless chunks', async () => {
    const { result, grown_bytes } = await flood((socket, count) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      pour(socket, `1000\r\n${'x'.repeat(4_096)}\r\n`, count)
    })
    assert.equal(result.outcome, 'success')
    assert.ok(grown_bytes < 40 * MB, `${grown_bytes} bytes`)
  })

  it('does not unpack a gzip bomb', async () => {
    const { result, grown_bytes } = await flood((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n')
      const gzip = createGzip()
      gzip.pipe(socket)
      const zeros = Buffer.alloc(MB)
      const more = () => {
        while (!socket.destroyed && gzip.write(zeros));
      }
      gzip.on('drain', more)
      socket.on('close', () => gzip.destroy())
      more()
    })
    assert.equal(result.outcome, 'success')
    assert.ok(result.log.some((line) => line.startsWith('a compressed body')))
    assert.ok(grown_bytes < 40 * MB, `${grown_bytes} bytes`)
  })

  it('stops at header fields without end', async () => {
    const { result, grown_bytes, sent_bytes } = await flood((socket, count) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      pour(socket, `X: ${'y'.repeat(4_096)}\r\n`.repeat(16), count)
    })
    assert.match(result.advice, /more than 16 KiB/)
    assert.ok(grown_bytes < 40 * MB, `${grown_bytes} bytes`)
    assert.ok(sent_bytes < 64 * MB, `${sent_bytes} bytes`)
  })

  it('stops at interim answers without end', async () => {
    const { result, grown_bytes } = await flood((socket, count) =>
      pour(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000), count),
    )
    assert.match(result.advice, /interim/)
    assert.ok(grown_bytes < 40 * MB, `${grown_bytes} bytes`)
  })
})
