import { randomUUID } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'

/** A request has this long to arrive whole; its header section half of it. A slow sender holds one socket so long. */
const REQUEST_TIMEOUT_MS = 10_000
const HEADERS_TIMEOUT_MS = 5_000
/** Longer than proxies keep an idle connection, so that it is they who close it. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000
const CHECK_EVERY_MS = 1_000
const HEADERS_MAX_BYTES = 8 * 1_024

const UNREADABLE: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** A node:http server with bounds on what an unknown sender can hold, and how long. It does not listen yet. */
export function createHttpServer(listener: RequestListener): Server {
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      maxHeaderSize: HEADERS_MAX_BYTES,
    },
    listener,
  )
  server.on('clientError', answerUnreadable)
  return server
}

/** What cannot be read as HTTP never becomes a request: it is answered here, if it can be, and the socket closed. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const body = JSON.stringify({ error: 'invalid_request' })
  const lines = [
    `HTTP/1.1 ${UNREADABLE[error.code ?? ''] ?? '400 Bad Request'}`,
    'Content-Type: application/json',
    'Cache-Control: no-store',
    `Content-Length: ${body.length}`,
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
