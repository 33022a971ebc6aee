import type { IncomingMessage, ServerResponse } from 'node:http'
import { Transform } from 'node:stream'
import { createProxyServer } from 'http-proxy-3'
import type { Refusal } from './answer.ts'

const CALLER_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/
/** Headers for this connection only (RFC 9110 §7.6.1), besides those that Connection names. */
const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'upgrade'],
]
/** Headers that a caller may not set, and Expect, which Node answers. */
const NOT_THE_CALLERS = [
  ...['expect', 'forwarded', 'x-caller-request-id', 'x-forwarded-host', 'x-forwarded-port', 'x-real-ip'],
]
/** Naming one of these in Connection would remove a header that affects authorization or handling. */
const END_TO_END = new Set(['authorization', 'content-length', 'content-type', 'host', 'cache-control'])

export interface Upstream {
  host: string
  port: number
}

/** Forwards a request and streams the answer back. Calls `refuse` if no answer comes. */
export type Forward = (
  incoming: IncomingMessage,
  response: ServerResponse,
  to: Upstream,
  about: { requestId: string; refuse: (refusal: Refusal) => void },
) => void

/** @param idleTimeout_ms the longest silence of a service, including connecting. */
export function createForward(idleTimeout_ms: number): Forward {
  const proxy = createProxyServer({ toProxy: true })
  proxy.on('proxyReq', (outgoing) => {
    const late = Object.assign(new Error('The service is silent.'), { code: 'ETIMEDOUT' })
    outgoing.setTimeout(idleTimeout_ms, () => outgoing.destroy(late))
  })
  proxy.on('proxyRes', (answer, incoming, response) => {
    for (const name of HOP_BY_HOP) delete answer.headers[name]
    answer.headers['x-request-id'] = incoming.headers['x-request-id']
    answer.on('error', () => response.destroy())
  })
  return (incoming, response, to, { requestId, refuse }) => {
    // http-proxy-3 would declare an empty body and send it all the same: a second request could hide in it.
    if (incoming.headers['transfer-encoding'] && /^(?:DELETE|OPTIONS)$/.test(incoming.method ?? ''))
      return refuse(LENGTH_REQUIRED)
    setHeaders(incoming, requestId)
    const target = `http://${to.host}:${to.port}`
    proxy.web(incoming, response, { target, buffer: incoming.pipe(afterReading()) }, (error) => {
      // Discards the rest of the request, so that the caller can read the answer.
      incoming.unpipe().resume()
      // An answer has begun, perhaps to a request that the service did not read to its end.
      if (response.hasHeader('x-request-id') || response.headersSent || response.destroyed) return
      refuse('code' in error && error.code === 'ETIMEDOUT' ? TIMED_OUT : NO_ANSWER)
    })
  }
}

const LENGTH_REQUIRED: Refusal = {
  code: 'invalid_request',
  detail: 'The request must declare its length.',
}
const NO_ANSWER: Refusal = {
  code: 'bad_gateway',
  detail: 'The upstream service could not be reached. Try again shortly.',
}
const TIMED_OUT: Refusal = {
  code: 'gateway_timeout',
  detail: 'The upstream service timed out. Try again shortly.',
}

/** Replaces what the caller says about the connection and about itself. */
function setHeaders({ headers, socket }: IncomingMessage, requestId: string): void {
  const named = (headers.connection ?? '').toLowerCase().split(/[, ]+/)
  const callerRequestId = headers['x-request-id'] ?? ''
  const dropped = [...HOP_BY_HOP, ...NOT_THE_CALLERS, ...named.filter((name) => !END_TO_END.has(name))]
  for (const name of dropped) delete headers[name]
  headers.connection = named.includes('close') ? 'close' : 'keep-alive'
  headers['x-forwarded-for'] = socket.remoteAddress
  headers['x-forwarded-proto'] = 'http'
  headers['x-request-id'] = requestId
  if (CALLER_REQUEST_ID.test(String(callerRequestId))) headers['x-caller-request-id'] = callerRequestId
}

/**
 * Passes a chunk on only after everything that has arrived was read. A service may answer early and disconnect. If the
 * next write then fails, Node drops the connection along with the unread answer.
 */
const afterReading = (): Transform =>
  new Transform({ transform: (chunk, _encoding, done) => void setImmediate(done, null, chunk) })
