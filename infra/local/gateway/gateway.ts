import { randomUUID } from 'node:crypto'
import { type RequestListener, type Server, STATUS_CODES } from 'node:http'
import { createHttpServer, drain, listen } from '#shared/process/http-server.ts'
import { STRICT_TRANSPORT_SECURITY } from '../../workspace-headers.ts'
import { errorCode } from '../failure.ts'
import { NO_IPV6 } from '../ports.ts'
import { type Refusal, refuse } from './answer.ts'
import type { Pages } from './pages.ts'
import { createForward, type Upstream } from './proxy.ts'
import { destinationOf, pathOf } from './route.ts'

/** The deadline for a whole request. Below the proxy's limit, so a slow caller is reported. */
const LIMITS = {
  requestTimeout: 25_000,
  maxHeaderSize: 16 * 1_024,
  // Answered here, with a request id.
  requireHostHeader: false,
}
const DRAIN_DEADLINE_MS = 10_000
/** Longer than a service's slowest answer. */
const IDLE_TIMEOUT_MS = 30_000

export interface GatewayOptions {
  port: number
  auth: Upstream
  api: Upstream
  pages: Pages
  /** The API's identifier, which is the base URL of the page that explains its problems. */
  apiResource: string
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
  const handle = createHandler(options)
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
    },
    kill() {
      for (const server of servers) server.close().closeAllConnections()
    },
  }
}

function createHandler(options: GatewayOptions): RequestListener {
  const { auth, api, pages, apiResource, idleTimeout_ms = IDLE_TIMEOUT_MS } = options
  const forward = createForward(idleTimeout_ms)
  // Callers then come through a proxy that terminates TLS. HSTS must not be sent over plain HTTP (RFC 6797 §7.2).
  const byTls = apiResource.startsWith('https:')
  return (incoming, response) => {
    if (byTls) response.setHeader('Strict-Transport-Security', STRICT_TRANSPORT_SECURITY)
    const { url: target = '', method, headersDistinct } = incoming
    const requestId = randomUUID()
    const answer = (refusal: Refusal) => refuse(response, refusal, { target, requestId, apiResource })
    const destination = destinationOf(target)
    if (headersDistinct.host?.length !== 1) answer(NOT_ONE_HOST)
    else if (destination === undefined) answer(NOT_A_PATH)
    else if (destination === 'auth') forward(incoming, response, auth, { requestId, refuse: answer })
    else if (destination === 'api') forward(incoming, response, api, { requestId, refuse: answer })
    else if (method !== 'GET' && method !== 'HEAD') answer(ONLY_PAGES)
    else if (!pages.answer(incoming, response, pathOf(target), requestId)) answer(NO_SUCH_FILE)
  }
}

const NOT_ONE_HOST: Refusal = { code: 'invalid_request', detail: 'The request must have one Host field.' }
const NOT_A_PATH: Refusal = { code: 'invalid_request', detail: 'The request target is not a plain path.' }
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
