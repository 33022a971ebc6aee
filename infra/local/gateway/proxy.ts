import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, Transform } from 'node:stream'
import { createProxyServer } from 'http-proxy-3'
import type { Refuse } from './refusal.ts'

const CALLER_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/
/** Headers for one connection only (RFC 9110 §7.6.1), besides those that Connection names. */
const HOP_BY_HOP =
  /^(?:connection|keep-alive|proxy-(?:authenticate|authorization|connection)|te|trailer|upgrade)$/
/** Connection may not remove these, since they affect authorization or handling. */
const END_TO_END = /^(?:authorization|cache-control|content-length|content-type|host)$/
/** Headers that a caller may not set, and Expect, which Node answers. */
const FORBIDDEN_TO_CALLERS = /^(?:expect|forwarded|x-(?:caller-request-id|forwarded-.*|real-ip))$/

/**
 * Returns a function that forwards a request to a service and streams the answer back, with the request id
 * that `response` has. It calls `refuse` if no answer comes.
 * @param idleTimeout_ms the longest silence of a service, including connecting.
 */
export function createForward(idleTimeout_ms: number) {
  const timeout = new Error('The service is silent.')
  // http-proxy-3 would normalise the path without `toProxy`.
  const proxy = createProxyServer({ toProxy: true, selfHandleResponse: true })
  proxy.on('proxyReq', (outgoing) => {
    outgoing.setTimeout(idleTimeout_ms, () => outgoing.destroy(timeout))
  })
  proxy.on('proxyRes', (answer, _incoming, response) => {
    const { 'transfer-encoding': _, 'x-request-id': __, ...headers } = answer.headers
    for (const name of Object.keys(headers)) if (HOP_BY_HOP.test(name)) delete headers[name]
    response.writeHead(answer.statusCode as number, headers)
    // An answer that breaks off is broken off here too, so that no one takes it for whole.
    pipeline(answer, response, () => {})
  })
  return (incoming: IncomingMessage, response: ServerResponse, target: string, refuse: Refuse): void => {
    replaceHeaders(incoming, response)
    proxy.web(incoming, response, { target, buffer: incoming.pipe(afterReading()) }, (error) => {
      // Discards the rest of the request, so that the caller can read the answer.
      incoming.unpipe().resume()
      if (response.headersSent || response.destroyed) return
      if (error === timeout) refuse('gateway_timeout', 'The upstream service timed out. Try again shortly.')
      else refuse('bad_gateway', 'The upstream service could not be reached. Try again shortly.')
    })
  }
}

/**
 * Replaces what the caller says about the connection and about itself. Does so before http-proxy-3 sees the
 * request, because its event for this does not come for a request with Expect.
 */
function replaceHeaders({ headers, socket }: IncomingMessage, response: ServerResponse): void {
  const callerRequestId = String(headers['x-request-id'] ?? '')
  const names = (headers.connection ?? '').toLowerCase().split(/[, ]+/)
  for (const name of Object.keys(headers)) {
    const isNamed = names.includes(name) && !END_TO_END.test(name)
    if (isNamed || HOP_BY_HOP.test(name) || FORBIDDEN_TO_CALLERS.test(name)) delete headers[name]
  }
  headers['x-forwarded-for'] = socket.remoteAddress
  headers['x-forwarded-proto'] = 'http'
  headers['x-request-id'] = String(response.getHeader('X-Request-Id'))
  if (CALLER_REQUEST_ID.test(callerRequestId)) headers['x-caller-request-id'] = callerRequestId
}

/**
 * Passes a chunk on only after everything that has arrived was read. A service may answer early and
 * disconnect. If the next write then fails, Node drops the connection along with the unread answer.
 */
const afterReading = (): Transform =>
  new Transform({ transform: (chunk, _encoding, callback) => void setImmediate(callback, null, chunk) })
