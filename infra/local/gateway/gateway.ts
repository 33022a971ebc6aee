import { randomUUID } from 'node:crypto'
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { createHttpServer, drain, listen } from '#shared/process/http-server.ts'
import { STRICT_TRANSPORT_SECURITY } from '../../workspace-headers.ts'
import { errorCode } from '../failure.ts'
import { NO_IPV6 } from '../ports.ts'
import { type Refusal, refuse } from './answer.ts'
import type { Pages } from './pages.ts'
import { createProxy, type ReverseProxy, type Upstream } from './proxy.ts'
import { destinationOf, originForm, pathOf } from './route.ts'

/** The deadline for a whole request. Below the proxy's limit, so a slow caller is reported. */
const LIMITS = {
  requestTimeout: 25_000,
  maxHeaderSize: 16 * 1_024,
  // Answered here, with a request id.
  requireHostHeader: false,
}
const DRAIN_DEADLINE_MS = 10_000

export interface GatewayOptions {
  port: number
  auth: Upstream
  api: Upstream
  pages: Pages
  /** The API's identifier, which is the base URL of the page that explains its problems. */
  apiResource: string
  localAddress?: string | undefined
  idleTimeout_ms?: number
}

export interface Gateway {
  port: number
  /** Accepts no new connections, lets requests in flight finish, and closes the rest after 10 s. */
  stop(): Promise<void>
  kill(): void
}

/**
 * One address for everything. Passes requests to the two services by path and serves the workspace's files. Listens on
 * loopback, on IPv4 and, where available, IPv6, since `localhost` may mean either.
 * @throws the system's error if the port is in use.
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
  // Callers then come through a proxy that terminates TLS. HSTS must not be sent over plain HTTP (RFC 6797 §7.2).
  const byTls = apiResource.startsWith('https:')
  return (incoming, response) => {
    if (byTls) response.setHeader('Strict-Transport-Security', STRICT_TRANSPORT_SECURITY)
    const requestId = randomUUID()
    const { target, host } = originForm(incoming.url ?? '')
    incoming.url = target
    const answer = (refusal: Refusal) => refuse(response, refusal, { target, requestId, apiResource })
    const ownHost = hostOf(incoming)
    const context = { requestId, host: host ?? ownHost, refuse: answer }
    const destination = destinationOf(target)
    if (ownHost === undefined) answer(NOT_ONE_HOST)
    else if (target === '*' && incoming.method === 'OPTIONS') noOperation(response, requestId)
    else if (destination === undefined) answer(NOT_A_PATH)
    else if (destination === 'auth') proxy.forward(incoming, response, auth, context)
    else if (destination === 'api') proxy.forward(incoming, response, api, context)
    else if (incoming.method !== 'GET' && incoming.method !== 'HEAD') answer(ONLY_PAGES)
    else if (!pages.answer(incoming, response, pathOf(target), requestId)) answer(NO_SUCH_FILE)
  }
}

/** `OPTIONS *` asks the server as a whole, and only whether it is there (RFC 9110 §9.3.7). */
const noOperation = (response: ServerResponse, requestId: string): void =>
  void response.writeHead(204, { 'X-Request-Id': requestId }).end()

/** Returns undefined unless there is exactly one Host field. HTTP/1.0 knows none (RFC 9112 §3.2). */
function hostOf({ headersDistinct, httpVersion, socket }: IncomingMessage): string | undefined {
  const hosts = headersDistinct.host ?? []
  if (hosts.length === 0 && httpVersion === '1.0') return `${socket.localAddress}:${socket.localPort}`
  return hosts.length === 1 ? hosts[0] : undefined
}

const NOT_ONE_HOST: Refusal = {
  code: 'invalid_request',
  detail: 'The request must have one Host field.',
}
const NOT_A_PATH: Refusal = {
  code: 'invalid_request',
  detail: 'The request target is not a plain path.',
}
const NO_SUCH_FILE: Refusal = { code: 'not_found', detail: 'No such file.' }
const ONLY_PAGES: Refusal = {
  code: 'method_not_allowed',
  detail: 'Only GET and HEAD are supported here.',
  headers: { Allow: 'GET, HEAD' },
}

async function startServer(handle: RequestListener, host: string, port: number): Promise<Server> {
  const server = createHttpServer(handle, LIMITS, ({ status, requestId }) => ({
    contentType: 'application/problem+json',
    // No request could be read, so the status says it all (RFC 9457 §4.2.1).
    body: { type: 'about:blank', title: STATUS_CODES[status], status, requestId },
  }))
  await listen(server, { host, port })
  return server
}
