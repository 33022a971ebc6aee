import assert from 'node:assert/strict'
import type { TLSSocket } from 'node:tls'
import { createGzip } from 'node:zlib'
import type { TestResult } from '../../../apps/api/callbacks/test-result.ts'
import { run } from '../../support/program.ts'
import { authority, startTlsReceiver } from '../../support/receivers.ts'

const MB = 1_048_576

type Talk = (socket: TLSSocket, count: (bytes: number) => void) => void

const MEMORY_MAX = 40 * MB
const SENT_MAX = 64 * MB
/** What each receiver says for as long as it is heard. */
const FLOODS = {
  'a body of 10 GB': (socket, count) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n')
    pour(socket, Buffer.alloc(65_536, 'abcdefg '), count)
  },
  'endless chunks': (socket, count) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
    pour(socket, `1000\r\n${'x'.repeat(4_096)}\r\n`, count)
  },
  'a gzip bomb': (socket, count) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n')
    const gzip = createGzip()
    gzip.on('data', (chunk) => count(chunk.length)).pipe(socket)
    const zeros = Buffer.alloc(MB)
    const more = () => {
      while (!socket.destroyed && gzip.write(zeros));
    }
    gzip.on('drain', more)
    socket.on('close', () => gzip.destroy())
    more()
  },
  'header fields without end': (socket, count) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    pour(socket, `X: ${'y'.repeat(4_096)}\r\n`.repeat(16), count)
  },
  'interim answers without end': (socket, count) =>
    pour(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000), count),
} satisfies Record<string, Talk>

function pour(socket: TLSSocket, chunk: Buffer | string, count: (bytes: number) => void): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk)) count(chunk.length)
    count(chunk.length)
  }
  socket.on('drain', more)
  more()
}

interface Sent {
  result: TestResult
  /** The most memory that the process had taken by then. */
  grown_bytes: number
  sent_bytes: number
}

// One process sends to all of them, one after another.
describe('a test send to a receiver that answers without end', () => {
  const sent = {} as Record<keyof typeof FLOODS, Sent>
  before(async () => {
    const receivers = await Promise.all(
      Object.entries(FLOODS).map(async ([what, talk]) => {
        const counted = { what, sent_bytes: 0 }
        const count = (bytes: number) => {
          counted.sent_bytes += bytes
        }
        return { counted, receiver: await startTlsReceiver({ talk: (socket) => talk(socket, count) }) }
      }),
    )
    const urls = receivers.map(({ receiver }) => receiver.url)
    const sending = run(process.execPath, ['test/api/callbacks/send-once.ts', authority.pem, ...urls])
    const { stdout } = await sending.finally(() =>
      Promise.all(receivers.map(({ receiver }) => receiver.stop())),
    )
    const results: Omit<Sent, 'sent_bytes'>[] = JSON.parse(stdout)
    for (const [at, { counted }] of receivers.entries())
      Object.assign(sent, { [counted.what]: { ...results[at], ...counted } })
  })

  for (const [what, outcome, said] of [
    ['a body of 10 GB', 'success', /^the body was cut after 16 KiB$/m],
    ['endless chunks', 'success', /^the body was cut after 16 KiB$/m],
    ['a gzip bomb', 'success', /^a compressed body/m],
    ['header fields without end', 'unconfirmed', /more than 16 KiB/],
    ['interim answers without end', 'unconfirmed', /interim/],
  ] as const)
    it(`reads little of ${what}, with flat memory`, () => {
      const { result, grown_bytes, sent_bytes } = sent[what]
      assert.equal(result.outcome, outcome)
      assert.match([result.advice, ...result.log].join('\n'), said)
      assert.ok(grown_bytes < MEMORY_MAX, `${grown_bytes} bytes`)
      assert.ok(sent_bytes < SENT_MAX, `${sent_bytes} bytes`)
      assert.ok(JSON.stringify(result.log).length < 20_000)
    })
})
