import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerOptions, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** Longer than proxies keep an idle connection, so the proxy closes it first. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000
const CHECK_EVERY_MS = 1_000
const IDLE_SWEEP_MS = 50

const UNREADABLE_STATUS: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }

/**
 * A node:http server that does not listen yet.
 * @param limits what an unknown sender may occupy, in bytes, and for how long, in milliseconds.
 * @param unreadable the answer to bytes that cannot be read as a request.
 */
export function createHttpServer(
  listener: RequestListener,
  limits: ServerOptions & { requestTimeout: number; maxHeaderSize: number },
  unreadable: (about: { status: number; requestId: string }) => { contentType: string; body: object },
): Server {
  const times = { keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS, connectionsCheckingInterval: CHECK_EVERY_MS }
  const server = createServer({ ...limits, ...times }, listener)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0)
      return void socket.destroy()
    const status = UNREADABLE_STATUS[error.code ?? ''] ?? 400
    const requestId = randomUUID()
    const { contentType, body } = unreadable({ status, requestId })
    const text = JSON.stringify(body)
    const lines = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `Content-Type: ${contentType}`,
      'Cache-Control: no-store',
      `Content-Length: ${Buffer.byteLength(text)}`,
      `X-Request-Id: ${requestId}`,
      'Connection: close',
    ]
    socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`)
  })
  return server
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
