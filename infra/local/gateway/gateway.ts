import { randomUUID } from 'node:crypto'
import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { drain, listen } from '#shared/process/http-server.ts'
import { STRICT_TRANSPORT_SECURITY } from '../../workspace-headers.ts'
import { errorCode } from '../failure.ts'
import { NO_IPV6 } from '../ports.ts'
import { type Refusal, refuse } from './answer.ts'
import type { Pages } from './pages.ts'
import { createProxy, type ReverseProxy, type Upstream } from './proxy.ts'
import { destinationOf, pathOf } from './route.ts'

/** The deadline for a whole request; its head is due sooner. Below the proxy's own limit, so the caller is blamed. */
const REQUEST_TIMEOUT_MS = 25_000
const HEADERS_TIMEOUT_MS = 10_000
const DRAIN_DEADLINE_MS = 10_000

export interface GatewayOptions {
  port: number
  auth: Upstream
  api: Upstream
  pages: Pages
  /** The API's identifier, where the docs page with its problems is. */
  apiResource: string
  localAddress?: string | undefined
  idleTimeout_ms?: number
}

export interface Gateway {
  port: number
  /** Takes no new connection, lets requests in flight finish, and cuts what is left after 10 s. */
  stop(): Promise<void>
  kill(): void
}

/**
 * One address for everything: passes requests to the two services by their path and serves the workspace's files.
 * Listens on loopback, IPv4 and, where there is one, IPv6, since `localhost` may mean either.
 * @throws the system's error when the port is taken.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const proxy = createProxy(options)
  const handle = createHandler(options, proxy)
  const onIPv4 = await startServer(handle, '127.0.0.1', options.port)
  const { port } = onIPv4.address() as { port: number }
  const onIPv6 = await startServer(handle, '::1', port).catch((error) => {
    if (NO_IPV6.has(errorCode(error) ?? '')) return undefined
    onIPv4.close()
    throw error
  })
  const servers = onIPv6 ? [onIPv4, onIPv6] : [onIPv4]
  return {
    port,
    async stop() {
      await Promise.all(servers.map((server) => drain(server, DRAIN_DEADLINE_MS)))
      proxy.close()
    },
    kill() {
      for (const server of servers) server.close().closeAllConnections()
      proxy.close()
    },
  }
}

function createHandler(
  { auth, api, pages, apiResource }: GatewayOptions,
  proxy: ReverseProxy,
): RequestListener {
  // Callers then come by a proxy that terminates TLS. Over plain HTTP it must not be said (RFC 6797 §7.2).
  const byTls = apiResource.startsWith('https:')
  return (incoming, response) => {
    if (byTls) response.setHeader('Strict-Transport-Security', STRICT_TRANSPORT_SECURITY)
    const requestId = randomUUID()
    const target = incoming.url ?? ''
    const answer = (refusal: Refusal) => refuse(response, refusal, { target, requestId, apiResource })
    const destination = destinationOf(target)
    if (destination === undefined) answer(NOT_A_PATH)
    else if (destination === 'auth') proxy.forward(incoming, response, auth, { requestId, refuse: answer })
    else if (destination === 'api') proxy.forward(incoming, response, api, { requestId, refuse: answer })
    else if (incoming.method !== 'GET' && incoming.method !== 'HEAD') answer(ONLY_PAGES)
    else if (!pages.answer(incoming, response, pathOf(target), requestId)) answer(NO_SUCH_FILE)
  }
}

const NOT_A_PATH: Refusal = {
  code: 'invalid_request',
  detail: 'The target of the request is not a plain path.',
}
const NO_SUCH_FILE: Refusal = { code: 'not_found', detail: 'There is no such file.' }
const ONLY_PAGES: Refusal = {
  code: 'method_not_allowed',
  detail: 'There are only pages here.',
  headers: { Allow: 'GET, HEAD' },
}

async function startServer(handle: RequestListener, host: string, port: number): Promise<Server> {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: HEADERS_TIMEOUT_MS },
    handle,
  )
  server.on('clientError', answerUnreadable)
  await listen(server, { host, port })
  return server
}

/** For input that is not HTTP, has too large a head, or is too slow: there is only a connection to answer. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  const statuses: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }
  const status = statuses[error.code ?? ''] ?? 400
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}
