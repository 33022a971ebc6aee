import { Agent, type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { Transform } from 'node:stream'
import type { Refusal } from './answer.ts'

/** The longest silence, including connecting. Longer than a service's slowest answer. */
const IDLE_TIMEOUT_MS = 30_000
const CALLER_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** Headers for this connection only (RFC 9110 §7.6.1), besides those that Connection names. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
/** Headers that a caller may not set, and Expect, which is answered here. */
const OURS_TO_SAY = [
  'expect',
  'forwarded',
  'host',
  'x-caller-request-id',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
  'x-request-id',
]

export interface Upstream {
  host: string
  port: number
}

export interface ProxyOptions {
  /** The address that the services see as the peer, which lets them trust only this address. */
  localAddress?: string | undefined
  idleTimeout_ms?: number
}

export interface ReverseProxy {
  /** Forwards a request and streams the answer back. Calls `refuse` if no answer comes. */
  forward(
    incoming: IncomingMessage,
    response: ServerResponse,
    to: Upstream,
    context: { requestId: string; host: string | undefined; refuse: (refusal: Refusal) => void },
  ): void
  close(): void
}

export function createProxy({ localAddress, idleTimeout_ms = IDLE_TIMEOUT_MS }: ProxyOptions): ReverseProxy {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  return {
    forward(incoming, response, to, { requestId, host, refuse }) {
      const outgoing = request({
        agent,
        host: to.host,
        port: to.port,
        ...(localAddress && { localAddress }),
        method: incoming.method,
        path: incoming.url,
        headers: requestFields(incoming, requestId, host ?? ''),
        setHost: false,
      })
      const progress = answerFrom(outgoing, response, requestId)
      let timedOut = false
      outgoing.setTimeout(idleTimeout_ms, () => {
        timedOut = true
        outgoing.destroy()
      })
      outgoing.on('error', () => {
        // Discards the rest of the request, so that the caller can read the answer.
        incoming.unpipe().resume()
        if (response.destroyed || progress() === 'whole') return
        if (progress() === 'begun') response.destroy()
        else refuse(timedOut ? TIMED_OUT : NO_ANSWER)
      })
      response.on('close', () => {
        if (!response.writableFinished) outgoing.destroy()
      })
      incoming.pipe(afterReading()).pipe(outgoing)
    },
    close: () => agent.destroy(),
  }
}

const NO_ANSWER: Refusal = {
  code: 'bad_gateway',
  detail: 'The upstream service could not be reached. Try again shortly.',
}
const TIMED_OUT: Refusal = {
  code: 'gateway_timeout',
  detail: 'The upstream service timed out. Try again shortly.',
}

/**
 * Passes a chunk on only after everything that has arrived was read. A service may answer early and disconnect. If the
 * next write then fails, Node drops the connection along with the unread answer.
 */
const afterReading = (): Transform =>
  new Transform({ transform: (chunk, _encoding, done) => void setImmediate(done, null, chunk) })

/** Streams the answer, and breaks off if it breaks off. Returns a function that reports its progress. */
function answerFrom(
  outgoing: ClientRequest,
  response: ServerResponse,
  requestId: string,
): () => 'none' | 'begun' | 'whole' {
  let answer: IncomingMessage | undefined
  outgoing.on('response', (received) => {
    answer = received
    if (response.destroyed) return void received.destroy()
    const fields = withoutHop(received).filter(([name]) => name.toLowerCase() !== 'x-request-id')
    response.writeHead(received.statusCode as number, received.statusMessage ?? '', [
      ...fields.flat(),
      'X-Request-Id',
      requestId,
    ])
    received.on('error', () => response.destroy())
    received.pipe(response)
  })
  return () => {
    if (!answer) return 'none'
    return answer.complete ? 'whole' : 'begun'
  }
}

/** Returns the headers to forward, in order and with duplicates, so that the service sees what the caller sent. */
function requestFields(incoming: IncomingMessage, requestId: string, host: string): string[] {
  const fields = withoutHop(incoming).filter(([name]) => !OURS_TO_SAY.includes(name.toLowerCase()))
  fields.unshift(['Host', host])
  fields.push(
    ['X-Forwarded-For', incoming.socket.remoteAddress ?? ''],
    ['X-Forwarded-Proto', 'http'],
    ['X-Request-Id', requestId],
  )
  const callers = incoming.headers['x-request-id']
  if (typeof callers === 'string' && CALLER_REQUEST_ID.test(callers))
    fields.push(['X-Caller-Request-Id', callers])
  // Framing is per connection, so a body of unknown length must be declared again, whatever the method.
  if (incoming.headers['transfer-encoding'] !== undefined) fields.push(['Transfer-Encoding', 'chunked'])
  fields.push(['Connection', 'keep-alive'])
  return fields.flat()
}

function withoutHop({ rawHeaders, headers }: IncomingMessage): [string, string][] {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  const dropped = new Set([...HOP_BY_HOP, ...named.filter((name) => !END_TO_END.has(name))])
  const kept: [string, string][] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (!dropped.has(name.toLowerCase())) kept.push([name, rawHeaders[i + 1] as string])
  }
  return kept
}

/** Naming one of these in Connection would remove a header that affects authorization or handling. */
const END_TO_END = new Set(['authorization', 'content-length', 'content-type', 'host', 'cache-control'])
