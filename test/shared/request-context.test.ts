import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { BlockList } from 'node:net'
import { pino } from 'pino'
import { createContextReader } from '#shared/http/request-context.ts'
import { listen } from '#shared/process/http-server.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const VALID = `00-${TRACE_ID}-00f067aa0ba902b7-01`

/** The context of a request with this traceparent, sent from 127.0.0.1. */
async function requestTraceId(traceparent: string, trusted: boolean): Promise<string | undefined> {
  const proxies = new BlockList()
  if (trusted) proxies.addAddress('127.0.0.1')
  const server = createServer((_request, response) => void response.end())
  const port = await listen(server, { host: '127.0.0.1', port: 0 })
  request({ port, headers: { traceparent } }).end()
  const [incoming] = (await once(server, 'request')) as [IncomingMessage]
  const { traceId } = createContextReader(proxies, pino({ level: 'silent' }))(incoming)
  server.closeAllConnections()
  server.close()
  return traceId
}

describe('the trace id of a request', () => {
  it('takes the trace id from a trusted proxy’s traceparent', async () => {
    assert.equal(await requestTraceId(VALID, true), TRACE_ID)
  })

  it('takes no trace id from anyone else', async () => {
    assert.equal(await requestTraceId(VALID, false), undefined)
  })

  it('takes the trace id from a later version, which may say more', async () => {
    assert.equal(await requestTraceId(`cc-${TRACE_ID}-00f067aa0ba902b7-01-what-comes`, true), TRACE_ID)
  })

  for (const [what, header] of [
    ['more than version 00 has', `${VALID}-more`],
    ['the version that is none', VALID.replace(/^00/, 'ff')],
    ['a trace id of zeros', VALID.replace(TRACE_ID, '0'.repeat(32))],
    ['a parent id of zeros', VALID.replace('00f067aa0ba902b7', '0'.repeat(16))],
    ['capital letters', VALID.toUpperCase()],
    ['too few digits', VALID.replace('4bf9', '4bf')],
    ['an attempt to forge a line', `${VALID} "event":"token.issued"`],
    ['nothing', ''],
    ['two of them', `${VALID}, ${VALID}`],
  ] as const)
    it(`reads no trace id from ${what}`, async () => {
      assert.equal(await requestTraceId(header, true), undefined)
    })
})
