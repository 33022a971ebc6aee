import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http'
import { createServer, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

const CHECK_EVERY_MS = 1_000
const IDLE_SWEEP_MS = 50
/** Time to read a refusal. Without it, a sender that never closes would stay connected. */
const LINGER_MS = 1_000

const UNREADABLE_STATUS: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }
/** Host and port, which may both be missing (RFC 9110 §7.2). */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\w.:%]+\])(?::\d*)?$/
/** The host and the rest of an absolute target (RFC 9112 §3.2.2). It has no user (RFC 9110 §4.2.4). */
const ABSOLUTE = /^https?:\/\/([^/?#]+)([/?#].*)?$/is
export type Unreadable = { status: number; requestId: string; detail: string | undefined }

/**
 * A node:http server that does not listen yet. What has no path or `*` as its target is `unreadable`.
 * @param limits what an unknown sender may occupy, in bytes, and for how long, in milliseconds.
 */
export function createHttpServer(
  listener: RequestListener,
  limits: ServerOptions & { requestTimeout: number; maxHeaderSize: number },
  unreadable: (about: Unreadable) => { contentType: string; body: object },
): Server {
  /** Answers on the bare socket and closes it, without an answer if another is on its way there. */
  function refuse(socket: Socket & { _httpMessage?: ServerResponse }, status: number, detail?: string): void {
    const { _httpMessage: pending } = socket
    // Its sender may still be reading the refusal of what came before.
    if (socket.writableEnded) return
    if (!socket.writable || pending?.headersSent || pending?.req.complete) return void socket.destroy()
    const requestId = randomUUID()
    const { contentType, body } = unreadable({ status, requestId, detail })
    const text = JSON.stringify(body)
    const lines = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `Content-Type: ${contentType}`,
      'Cache-Control: no-store',
      `Content-Length: ${Buffer.byteLength(text)}`,
      `X-Request-Id: ${requestId}`,
      'Connection: close',
    ]
    socket.on('error', () => {})
    socket.end(`${lines.join('\r\n')}\r\n\r\n${pending?.req.method === 'HEAD' ? '' : text}`)
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
  const options = { ...limits, connectionsCheckingInterval: CHECK_EVERY_MS, requireHostHeader: false }
  const server = createServer(options, (request, response) => {
    const fault = normalizeTarget(request)
    if (fault) refuse(request.socket, 400, fault)
    // No request is carried out after a refusal (RFC 9112 §9.6), or after a reset, which leaves no address.
    else if (request.socket.writable && request.socket.remoteAddress) listener(request, response)
  })
  server.on('checkExpectation', ({ socket }) => refuse(socket, 417, 'Expect must be 100-continue.'))
  server.on('connect', ({ socket }) => refuse(socket, 501))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    refuse(socket, UNREADABLE_STATUS[error.code ?? ''] ?? 400),
  )
  return server
}

/** Turns an absolute target into Host and path. Returns what is wrong with these, if anything. */
function normalizeTarget(request: IncomingMessage): string | undefined {
  const { httpVersion, headersDistinct, url = '' } = request
  const { host: hosts = httpVersion === '1.0' ? [''] : [], 'content-type': types = [] } = headersDistinct
  if (hosts.length !== 1 || !HOST.test(hosts[0] as string)) return 'Send one valid Host field.'
  if (types.length > 1) return 'Send one Content-Type field.'
  if (url.startsWith('/') || url === '*') return undefined
  const [, host, rest = ''] = ABSOLUTE.exec(url) ?? []
  if (!host || !HOST.test(host) || !URL.canParse(url)) return 'The request target is not a valid URL.'
  request.headers.host = host
  request.url = rest.startsWith('/') ? rest : `/${rest}`
  return undefined
}

/** Returns the port that it listens on. @throws the system's error, such as EADDRINUSE. */
export async function listen(server: Server, at: { host: string; port: number }): Promise<number> {
  server.listen(at)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Takes no new connection, lets requests in flight finish, and cuts what is left after `deadline_ms`. */
export async function drain(server: Server, deadline_ms: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // Once its request has finished, a connection is idle, and its caller may keep it for long.
  const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
  const timer = setTimeout(() => server.closeAllConnections(), deadline_ms)
  await closed
  clearInterval(sweep)
  clearTimeout(timer)
}
